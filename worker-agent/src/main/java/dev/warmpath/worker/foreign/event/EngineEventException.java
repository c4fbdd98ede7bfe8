package dev.warmpath.worker.foreign.event;

/** Bytes that are no event batch of an engine that is known. Nothing of the batch counts; the next one is read anew. */
public final class EngineEventException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    EngineEventException(String message) {
        super(message);
    }

    EngineEventException(String message, Throwable cause) {
        super(message, cause);
    }
}
