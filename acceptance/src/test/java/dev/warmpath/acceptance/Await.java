package dev.warmpath.acceptance;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waiting for another process's state, which nobody announces to a test. */
final class Await {

    /** Longer than any machine takes: a wait ends by it only if what it waits for never comes. */
    static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final long POLL_NANOS = Duration.ofMillis(50).toNanos();

    private Await() {}

    /**
     * Waits. A condition that can tell that it will never hold throws.
     * @throws AssertionError if the condition stays false for as long as {@link #PATIENCE}
     */
    static void until(String what, BooleanSupplier condition) {
        long deadlineNanos = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new AssertionError("not within " + PATIENCE.toMinutes() + " minutes: " + what);
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
