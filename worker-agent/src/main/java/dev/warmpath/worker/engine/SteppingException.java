package dev.warmpath.worker.engine;

/** The engine cannot be held now, or not be stepped. The message says why. */
public final class SteppingException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SteppingException(String message) {
        super(message);
    }
}
