package dev.warmpath.router.fleet;

import java.time.Duration;
import java.util.Locale;

/** How far a decision can rely on what the index says about a worker, best first. */
public enum IndexGrade {
    /** The index is in step with the worker, or was a moment ago. */
    EXACT,
    /** The index ages; what a router has sent there itself since then counts as well. */
    HISTORY,
    /** Nobody knows what the worker holds by now: it is weighed by its load alone. */
    LOAD;

    /** Longer than events are ever late, and long enough to fetch a snapshot after a gap. */
    private static final Duration LONGEST_EXACT = Duration.ofSeconds(2);
    /** By then a busy worker has replaced a good part of its cache. */
    private static final Duration LONGEST_HISTORY = Duration.ofSeconds(30);

    /** @param outOfStepNanos how long the index has been behind the worker; 0 = it is not */
    static IndexGrade of(long outOfStepNanos) {
        if (outOfStepNanos <= LONGEST_EXACT.toNanos()) {
            return EXACT;
        }
        return outOfStepNanos <= LONGEST_HISTORY.toNanos() ? HISTORY : LOAD;
    }

    /** As meters and answers call it. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
