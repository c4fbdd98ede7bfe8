package dev.warmpath.router.fleet;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The time that leases run by: it goes on only while this router can hear its workers. Whoever receives their
 * heartbeats says so again and again; from one such turn to the next at most {@link #LONGEST_TURN_NANOS} pass. So a
 * router that was stopped, collected garbage or got no processor finds its leases as it left them, and what has piled up
 * in its sockets meanwhile is read before one of them can end.
 *
 * <p>Until somebody has said so for the first time it is the monotonic clock alone. Safe for use by several threads.
 */
final class LeaseClock {

    /** A few turns of whoever calls {@link #turn}; far below a lease. */
    private static final long LONGEST_TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final LongSupplier nanoTime;
    private volatile @Nullable Turn last;

    /** @param nanoTime a monotonic clock, as {@link System#nanoTime} */
    LeaseClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** @param nanos on the monotonic clock, {@code leaseNanos} on this one */
    private record Turn(long nanos, long leaseNanos) {}

    /** Has no meaning but in differences. */
    long nanos() {
        return nanos(last, nanoTime.getAsLong());
    }

    /** Heartbeats are being received now. One thread at a time. */
    void turn() {
        long now = nanoTime.getAsLong();
        last = new Turn(now, nanos(last, now));
    }

    private static long nanos(@Nullable Turn last, long now) {
        return last == null ? now : last.leaseNanos() + Math.min(now - last.nanos(), LONGEST_TURN_NANOS);
    }
}
