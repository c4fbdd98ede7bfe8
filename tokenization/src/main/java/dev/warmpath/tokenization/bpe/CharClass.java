package dev.warmpath.tokenization.bpe;

/**
 * What a character is to the patterns of pre-tokenizers: a set of the bits below, which a pattern's {@code \p{L}},
 * {@code \p{N}}, {@code \s} and their complements ask for. Each character has exactly one of the first four.
 *
 * <p>The classes are those of the Hugging Face library, which brings Unicode tables of its own: its expressions and the
 * JDK 25 both know Unicode 16, its test for digits already 17. A character that the JDK does not know is
 * {@link #DISPUTED}, and its text is the library's to encode. {@code CharClassTest} asks the library about all.
 */
final class CharClass {
    /** {@code \p{L}}. */
    static final int LETTER = 1;
    /** {@code \p{N}}. */
    static final int NUMBER = 2;
    /** {@code \s}, which is White_Space. */
    static final int SPACE = 4;
    /** {@code [^\s\p{L}\p{N}]}. */
    static final int OTHER = 8;
    /** {@code [\p{Lu}\p{Lt}]}, a letter. */
    static final int UPPER = 16;
    /** {@code \p{Ll}}, a letter. */
    static final int LOWER = 32;
    /** {@code \p{M}}, an other. */
    static final int MARK = 64;
    /** {@code [\r\n]}, a space. */
    static final int NEWLINE = 128;
    /** {@code [\p{P}\p{S}]}, an other. */
    static final int SIGN = 256;
    /** No bit at all, so that no run takes it in. */
    static final int DISPUTED = 0;

    private static final short[] OF = new short[Character.MAX_CODE_POINT + 1];

    static {
        for (int c = 0; c < OF.length; c++) {
            OF[c] = (short) classOf(c);
        }
    }

    private CharClass() {}

    private static int classOf(int c) {
        return switch (Character.getType(c)) {
            case Character.UPPERCASE_LETTER, Character.TITLECASE_LETTER -> LETTER | UPPER;
            case Character.LOWERCASE_LETTER -> LETTER | LOWER;
            case Character.MODIFIER_LETTER, Character.OTHER_LETTER -> LETTER;
            case Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> NUMBER;
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK -> OTHER | MARK;
            case Character.SPACE_SEPARATOR, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> SPACE;
            case Character.CONNECTOR_PUNCTUATION, Character.DASH_PUNCTUATION, Character.START_PUNCTUATION,
                    Character.END_PUNCTUATION, Character.INITIAL_QUOTE_PUNCTUATION,
                    Character.FINAL_QUOTE_PUNCTUATION, Character.OTHER_PUNCTUATION, Character.MATH_SYMBOL,
                    Character.CURRENCY_SYMBOL, Character.MODIFIER_SYMBOL, Character.OTHER_SYMBOL -> OTHER | SIGN;
            case Character.CONTROL -> control(c);
            case Character.UNASSIGNED -> DISPUTED;
            default -> OTHER;
        };
    }

    private static int control(int c) {
        if (c == '\r' || c == '\n') {
            return SPACE | NEWLINE;
        }
        return c >= '\t' && c <= '\r' || c == 0x85 ? SPACE : OTHER;
    }

    static int of(int codePoint) {
        return OF[codePoint];
    }

    /** Of the character whose UTF-8 begins at {@code text[at]}. */
    static int at(byte[] text, int at) {
        int first = text[at];
        return OF[first >= 0 ? first : Utf8.codePoint(text, at)];
    }

    /** Where the run ends of characters that have one of the {@code wanted} bits; {@code from} if none begins there. */
    static int runEnd(byte[] text, int from, int limit, int wanted) {
        int at = from;
        while (at < limit) {
            int first = text[at];
            if (first >= 0) {
                if ((OF[first] & wanted) == 0) {
                    return at;
                }
                at++;
            } else {
                if ((OF[Utf8.codePoint(text, at)] & wanted) == 0) {
                    return at;
                }
                at += Utf8.width(first);
            }
        }
        return at;
    }
}
