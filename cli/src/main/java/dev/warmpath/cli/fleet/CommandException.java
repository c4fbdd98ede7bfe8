package dev.warmpath.cli.fleet;

/**
 * A command cannot do what it was asked for; its message is the sentence that the caller reads, and says what to do.
 */
public final class CommandException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public CommandException(String sentence) {
        super(sentence);
    }
}
