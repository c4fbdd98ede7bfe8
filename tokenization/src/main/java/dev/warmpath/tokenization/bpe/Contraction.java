package dev.warmpath.tokenization.bpe;

/** English endings behind an apostrophe: {@code 's|'t|'re|'ve|'m|'ll|'d}. */
final class Contraction {
    /** U+017F, the long s, is an s to {@code (?i:)}: two bytes. No other letter here has a twin beyond ASCII. */
    private static final byte LONG_S_0 = (byte) 0xC5;
    private static final byte LONG_S_1 = (byte) 0xBF;

    private Contraction() {}

    /** @return where the ending ends that begins at {@code from}, or {@code from} */
    static int end(byte[] text, int from, int limit, boolean anyCase) {
        if (text[from] != '\'' || from + 1 >= limit) {
            return from;
        }
        int fold = anyCase ? 0x20 : 0;
        // padding is no letter, so nothing is found beyond the limit of the whole text
        return switch (text[from + 1] | fold) {
            case 's', 't', 'm', 'd' -> from + 2;
            case 'r', 'v' -> (text[from + 2] | fold) == 'e' ? from + 3 : from;
            case 'l' -> (text[from + 2] | fold) == 'l' ? from + 3 : from;
            default -> anyCase && text[from + 1] == LONG_S_0 && text[from + 2] == LONG_S_1 ? from + 3 : from;
        };
    }
}
