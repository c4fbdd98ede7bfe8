package dev.warmpath.router.fleet;

import java.time.Duration;
import java.util.Locale;

/**
 * How far a decision can rely on what the index says about a worker, best first.
 *
 * <p>A copy that is late is worse than one that is assumed: the first is a fault that somebody has to look for, the
 * second is how that worker is. An assumed one counts in decisions as an exact one does; a worker that promises more
 * than is found there is {@linkplain dev.warmpath.router.health.WorkerHealth#credit() believed less}, wherever its
 * promises come from.
 */
public enum IndexGrade {
    /** The index is in step with the worker, or was a moment ago. */
    EXACT,
    /**
     * In step likewise, but the worker itself does not know what is held: what computes there tells nothing of its
     * cache, and is taken to hold what it was sent last. What others sent there is missing, and nobody knows what has
     * been evicted.
     */
    ASSUMED,
    /** The index ages; what a router has sent there itself since then counts as well. */
    HISTORY,
    /** Nobody knows what the worker holds by now: it is weighed by its load alone. */
    LOAD;

    /** Longer than events are ever late, and long enough to fetch a snapshot after a gap. */
    private static final Duration LONGEST_EXACT = Duration.ofSeconds(2);
    /** By then a busy worker has replaced a good part of its cache. */
    private static final Duration LONGEST_HISTORY = Duration.ofSeconds(30);

    /**
     * @param outOfStepNanos how long the index has been behind the worker; 0 = it is not
     * @param assumed        whether the worker announces what it was sent
     */
    static IndexGrade of(long outOfStepNanos, boolean assumed) {
        if (outOfStepNanos <= LONGEST_EXACT.toNanos()) {
            return assumed ? ASSUMED : EXACT;
        }
        return outOfStepNanos <= LONGEST_HISTORY.toNanos() ? HISTORY : LOAD;
    }

    /** Whether the index says of the worker what that says itself, or did a moment ago. */
    public boolean isInTime() {
        return this == EXACT || this == ASSUMED;
    }

    /** As meters and answers call it. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
