package dev.warmpath.worker.foreign.generate;

/** An engine's answer is none that its dialect has, or not one to what it was asked. */
final class UnreadableAnswerException extends Exception {

    private static final long serialVersionUID = 1L;

    UnreadableAnswerException(String message) {
        super(message);
    }
}
