package dev.warmpath.router.completion;

import org.jspecify.annotations.Nullable;

/** The caller's fault: the message names the value and the limit, the field says where to look. */
public final class BadRequestException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is wrong, as far as clients act on it. */
    public enum Fault {
        /** A field's value cannot be taken. */
        INVALID_VALUE,
        /** A required field is absent. */
        MISSING_VALUE,
        /** A field that neither we nor OpenAI know. */
        UNKNOWN_PARAMETER,
        /** A known field that asks for what is not served. */
        UNSUPPORTED_PARAMETER,
        /** No worker serves a model of this name. */
        MODEL_NOT_FOUND,
        /** Prompt, or prompt and answer, are longer than the model's context. */
        CONTEXT_LENGTH_EXCEEDED,
        /** The body is not JSON that we read. */
        INVALID_JSON,
        /** The body broke off, or its framing cannot be read. */
        INCOMPLETE_BODY,
        /** The body is longer than the limit. */
        BODY_TOO_LARGE,
        /** The body is of another type than JSON, or compressed. */
        UNSUPPORTED_MEDIA_TYPE
    }

    private static final int SHOWN_CHARS = 100;

    private final Fault fault;
    private final @Nullable String field;

    /** @param field path of the field in the body, as {@code messages[0].content}; null where no field is to blame */
    public BadRequestException(Fault fault, @Nullable String field, String message) {
        super(message, null, false, false);
        this.fault = fault;
        this.field = field;
    }

    /** A client's value as messages show it: its first {@value #SHOWN_CHARS} characters. */
    public static String shown(String value) {
        if (value.length() <= SHOWN_CHARS) {
            return value;
        }
        int end = Character.isHighSurrogate(value.charAt(SHOWN_CHARS - 1)) ? SHOWN_CHARS - 1 : SHOWN_CHARS;
        return value.substring(0, end) + "…";
    }

    public Fault fault() {
        return fault;
    }

    public @Nullable String field() {
        return field;
    }
}
