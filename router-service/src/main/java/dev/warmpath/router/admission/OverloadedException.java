package dev.warmpath.router.admission;

import java.time.Duration;

/** This router has no room for the request now; the same request may be taken a while later. */
public final class OverloadedException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    /** Long enough for a queue to move, short enough for a client to wait. */
    private static final Duration A_MOMENT = Duration.ofSeconds(1);

    private final transient Duration retryAfter;

    public OverloadedException(String message) {
        this(message, A_MOMENT);
    }

    /** @param retryAfter when it may be worth trying again */
    public OverloadedException(String message, Duration retryAfter) {
        // no stack trace: it is thrown most often when there is least time
        super(message, null, false, false);
        this.retryAfter = retryAfter;
    }

    /** When it may be worth trying again, in whole seconds, 1 to 60. */
    public int retryAfterSeconds() {
        return Math.clamp(Math.ceilDiv(retryAfter.toMillis(), 1_000), 1, 60);
    }
}
