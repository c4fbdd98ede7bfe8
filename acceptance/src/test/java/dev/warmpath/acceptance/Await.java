package dev.warmpath.acceptance;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waiting for another process's state, which nobody announces to a test. */
final class Await {

    private static final long POLL_NANOS = Duration.ofMillis(50).toNanos();

    private Await() {}

    /** @throws AssertionError if the condition stays false for as long as {@code timeout} */
    static void until(Duration timeout, String what, BooleanSupplier condition) {
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new AssertionError("not within " + timeout.toMillis() + " ms: " + what);
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
