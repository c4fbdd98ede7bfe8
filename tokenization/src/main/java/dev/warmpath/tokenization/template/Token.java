package dev.warmpath.tokenization.template;

/**
 * One token of a template source.
 * @param text the token's own text; for {@code TEXT} and {@code STRING} the value
 * @param line 1-based line where it starts
 */
record Token(Kind kind, String text, int line) {
    enum Kind {
        TEXT, OUTPUT_BEGIN, OUTPUT_END, TAG_BEGIN, TAG_END, NAME, STRING, INTEGER, FLOAT, OPERATOR, END
    }

    boolean is(Kind expected, String expectedText) {
        return kind == expected && text.equals(expectedText);
    }

    /** As an error message shows it. */
    String shown() {
        return switch (kind) {
            case END -> "the end of the template";
            case TEXT -> "text";
            default -> "'" + text + "'";
        };
    }
}
