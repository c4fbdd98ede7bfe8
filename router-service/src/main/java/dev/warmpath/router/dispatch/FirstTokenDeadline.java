package dev.warmpath.router.dispatch;

import java.time.Duration;

/**
 * How long a worker may take to a first token before the request is tried elsewhere: many times what is typical for as
 * much work, so that only one that hangs is given up.
 */
final class FirstTokenDeadline {

    /** A long prompt costs more a token than a short one, and an estimate of the work before it may be off. */
    private static final int FACTOR = 8;

    private FirstTokenDeadline() {}

    /**
     * @param expectedNanos typical time for the work, see
     *                      {@link dev.warmpath.router.health.WorkerHealth#expectedFirstTokenNanos}; negative while
     *                      unknown
     * @param least         the answer is no shorter, unless {@code longest} is
     * @param longest       the answer is no longer, and this while nothing is known
     */
    static Duration of(long expectedNanos, Duration least, Duration longest) {
        if (expectedNanos < 0 || expectedNanos > longest.toNanos() / FACTOR) {
            return longest;
        }
        Duration generous = Duration.ofNanos(FACTOR * expectedNanos);
        Duration atLeast = generous.compareTo(least) > 0 ? generous : least;
        return atLeast.compareTo(longest) > 0 ? longest : atLeast;
    }
}
