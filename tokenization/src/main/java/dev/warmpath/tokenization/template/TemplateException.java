package dev.warmpath.tokenization.template;

/** What is wrong with a chat template, or with what was asked of it; the message names the thing and the place. */
public final class TemplateException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** To a caller, all of them say that these messages cannot be put into this model's words, and why. */
    public enum Kind {
        /** The source is not Jinja. Found when compiled. */
        SYNTAX,
        /** Jinja that this interpreter does not speak, by name. Tags are found when compiled, all else when reached. */
        UNSUPPORTED,
        /** An operation had no meaning for the values it met, as an attribute of an undefined value. */
        EVALUATION,
        /** The template itself refused the messages through {@code raise_exception}; the message is the template's. */
        REFUSED,
        /** Steps, text or nesting went past {@link TemplateLimits}. */
        LIMIT
    }

    private final Kind kind;
    private final int line;

    TemplateException(Kind kind, String message, int line) {
        super(kind == Kind.REFUSED || line == 0 ? message : message + " (line " + line + " of the chat template)");
        this.kind = kind;
        this.line = line;
    }

    private TemplateException(TemplateException first) {
        super(first.getMessage());
        this.kind = first.kind;
        this.line = first.line;
    }

    /** The same, with the trace of whoever calls this. */
    public TemplateException again() {
        return new TemplateException(this);
    }

    public Kind kind() {
        return kind;
    }

    /** 1-based line of the template source; 0 where no place can be named. */
    public int line() {
        return line;
    }
}
