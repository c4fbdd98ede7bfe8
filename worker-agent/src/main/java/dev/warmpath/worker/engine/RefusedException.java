package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;

/** A generation that the engine does not take, said before any work was done. */
public final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final FailureReason reason;

    public RefusedException(FailureReason reason, String message) {
        super(message);
        this.reason = reason;
    }

    public FailureReason reason() {
        return reason;
    }
}
