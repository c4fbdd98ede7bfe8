package dev.warmpath.tokenization.bpe;

import org.jspecify.annotations.Nullable;

/**
 * What is done to a text before it is cut into words.
 * @param composes composes characters: NFC
 * @param spaced   whether the vocabulary writes a space as {@value #MARK}, so that one in a text is a space, too
 */
record Preparation(Start start, boolean composes, boolean spaced) {
    /** SentencePiece's letter for a space. */
    static final char MARK = '\u2581';

    /** What goes before a text. */
    enum Start {
        NOTHING,
        SPACE,
        /** A space, but for a text that begins with one. */
        SPACE_IF_NONE,
        /** The same, but only where a prompt begins. */
        SPACE_IF_NONE_AND_FIRST
    }

    /**
     * @param text  not empty
     * @param first whether a prompt begins with it
     * @return null if the library may compose it otherwise, or sooner
     */
    @Nullable String of(String text, boolean first) {
        @Nullable String composed = composes ? Composition.of(text) : text;
        return composed == null ? null : started(spaced ? composed.replace(MARK, ' ') : composed, first);
    }

    private String started(String text, boolean first) {
        boolean space = switch (start) {
            case NOTHING -> false;
            case SPACE -> true;
            case SPACE_IF_NONE -> text.charAt(0) != ' ';
            case SPACE_IF_NONE_AND_FIRST -> first && text.charAt(0) != ' ';
        };
        return space ? " " + text : text;
    }
}
