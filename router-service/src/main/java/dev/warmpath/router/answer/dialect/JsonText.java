package dev.warmpath.router.answer.dialect;

/** A string in JSON. */
final class JsonText {

    private JsonText() {}

    static String quoted(String text) {
        var json = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            append(json, text.charAt(i));
        }
        return json.append('"').toString();
    }

    static void append(StringBuilder json, char c) {
        switch (c) {
            case '"', '\\' -> json.append('\\').append(c);
            case '\n' -> json.append("\\n");
            case '\r' -> json.append("\\r");
            case '\t' -> json.append("\\t");
            default -> {
                if (c < ' ') {
                    json.append("\\u%04x".formatted((int) c));
                } else {
                    json.append(c);
                }
            }
        }
    }
}
