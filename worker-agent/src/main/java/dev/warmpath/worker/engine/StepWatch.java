package dev.warmpath.worker.engine;

import java.time.Duration;

/**
 * Judges a device by the age of the step that it is at, looked at again and again. It hangs while that is beyond the
 * bound, and is dead at twice the bound; but only if it hung in as many looks as make the bound, too: a process that was
 * stopped for an hour finds its step an hour old at once, and the device may have gone on meanwhile.
 */
final class StepWatch {

    enum Verdict { MOVES, HANGS, DEAD }

    private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(1);
    /** The least number of looks at a step within its bound. */
    private static final int LEAST_LOOKS = 10;

    private final long longestStepNanos;
    private final long intervalNanos;
    private final long looksToDeath;
    private long hangingLooks;

    /** @param longestStep how long a step may take */
    StepWatch(Duration longestStep) {
        longestStepNanos = longestStep.toNanos();
        intervalNanos = Math.min(longestStepNanos / LEAST_LOOKS, LONGEST_INTERVAL.toNanos());
        looksToDeath = longestStepNanos / intervalNanos;
    }

    /** How long to wait between two looks. */
    long intervalNanos() {
        return intervalNanos;
    }

    /** One look. @param stepAgeNanos 0 while the device is at no step */
    Verdict look(long stepAgeNanos) {
        if (stepAgeNanos < longestStepNanos) {
            hangingLooks = 0;
            return Verdict.MOVES;
        }
        hangingLooks++;
        return hangingLooks >= looksToDeath && stepAgeNanos / 2 >= longestStepNanos ? Verdict.DEAD : Verdict.HANGS;
    }
}
