package dev.warmpath.router.answer.dialect;

/** The characters of a JSON string, read one by one behind its opening quote. */
final class JsonString {

    private static final int HEX_DIGITS = 4;

    private final StringBuilder chars = new StringBuilder();
    private boolean escaped;
    private int hexLeft;
    private int hex;

    /** @return true at its closing quote */
    boolean accept(char c) {
        if (hexLeft > 0) {
            hex = hex << 4 | Math.max(0, Character.digit(c, 16));
            if (--hexLeft == 0) {
                chars.append((char) hex);
            }
        } else if (escaped) {
            escaped = false;
            escape(c);
        } else if (c == '\\') {
            escaped = true;
        } else if (c == '"') {
            return true;
        } else {
            chars.append(c);
        }
        return false;
    }

    private void escape(char c) {
        switch (c) {
            case 'n' -> chars.append('\n');
            case 't' -> chars.append('\t');
            case 'r' -> chars.append('\r');
            case 'b' -> chars.append('\b');
            case 'f' -> chars.append('\f');
            case 'u' -> {
                hexLeft = HEX_DIGITS;
                hex = 0;
            }
            default -> chars.append(c);                            // a quote, a slash, or what JSON does not escape
        }
    }

    /** What has been read since this was called last. */
    String take() {
        String text = chars.toString();
        chars.setLength(0);
        return text;
    }
}
