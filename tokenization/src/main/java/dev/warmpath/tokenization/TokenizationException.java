package dev.warmpath.tokenization;

import org.jspecify.annotations.Nullable;

/** Why a model's files give no tokenizer, or a text no tokens; the message names the file, field or text. */
public final class TokenizationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Whose error it is follows from the kind: only {@link #MARKER_IN_CONTENT} is the caller's. */
    public enum Kind {
        /** This machine cannot load the Hugging Face library. */
        LIBRARY_UNAVAILABLE,
        /** A file of the model does not parse, or contradicts itself. */
        INVALID_MODEL_FILE,
        /** The model has no chat template: it completes text, it does not chat. */
        NO_CHAT_TEMPLATE,
        /** A message spells a role marker, and this model's vocabulary has no other way to write those characters. */
        MARKER_IN_CONTENT
    }

    private final Kind kind;

    TokenizationException(Kind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
