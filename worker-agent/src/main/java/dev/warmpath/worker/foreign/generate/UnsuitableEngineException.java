package dev.warmpath.worker.foreign.generate;

/** The engine answers, and cannot be used as it is: a sentence for whoever runs it, which waiting does not change. */
public final class UnsuitableEngineException extends Exception {

    private static final long serialVersionUID = 1L;

    UnsuitableEngineException(String message) {
        super(message);
    }
}
