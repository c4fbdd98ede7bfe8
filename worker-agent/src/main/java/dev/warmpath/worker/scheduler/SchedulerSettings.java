package dev.warmpath.worker.scheduler;

/**
 * How much one step takes on, how many may wait, and who comes first.
 *
 * @param maxBatchedTokens     most tokens computed in a step, at least {@code maxSequences}: each may decode one
 * @param maxSequences         most sequences that run side by side
 * @param maxWaiting           so many may be alive beyond {@code maxSequences}; who comes then is refused
 * @param chunkedPrefill       true: a prompt is computed in as many pieces as the budget asks for; false: at once, or
 *                             later
 * @param longPrefillThreshold most tokens of one prompt in a step, so that a long one leaves room for others; 0 = off
 * @param policy               who is admitted first, and who gives way
 * @param steps                device steps per scheduling decision while everybody decodes and nobody waits, at least 1
 * @param asyncScheduling      true: the next batch is scheduled while the last one is computed
 * @param reserveWholeSequence true: nobody is admitted before all its known tokens find blocks, not only the first
 *                             piece; saves most preemptions of long prompts
 * @param cacheAwareWindow     among so many waiting ones, the one with the longest cached prefix goes first; 0 = off.
 *                             Costs a look-up for each of them in every step that admits somebody
 * @param overtakeLimitNanos   who has waited so long is not overtaken any more; 0 = nobody ever is
 */
public record SchedulerSettings(
        int maxBatchedTokens, int maxSequences, int maxWaiting, boolean chunkedPrefill, int longPrefillThreshold,
        SchedulingPolicy policy, int steps, boolean asyncScheduling, boolean reserveWholeSequence,
        int cacheAwareWindow, long overtakeLimitNanos) {

    public static final long DEFAULT_OVERTAKE_LIMIT_NANOS = 1_000_000_000;

    public SchedulerSettings {
        if (maxSequences < 1) {
            throw new IllegalArgumentException("max sequences " + maxSequences + " is below 1");
        }
        if (maxBatchedTokens < maxSequences) {
            throw new IllegalArgumentException("max batched tokens " + maxBatchedTokens
                    + " is below max sequences " + maxSequences + ": not every sequence could decode in a step");
        }
        if (maxWaiting < 1) {
            throw new IllegalArgumentException("max waiting " + maxWaiting + " is below 1");
        }
        if (longPrefillThreshold < 0) {
            throw new IllegalArgumentException("long prefill threshold " + longPrefillThreshold + " is negative");
        }
        if (longPrefillThreshold > 0 && !chunkedPrefill) {
            throw new IllegalArgumentException(
                    "long prefill threshold " + longPrefillThreshold + " cuts prompts, but chunked prefill is off");
        }
        if (steps < 1) {
            throw new IllegalArgumentException("scheduler steps " + steps + " is below 1");
        }
        if (cacheAwareWindow < 0 || overtakeLimitNanos < 0) {
            throw new IllegalArgumentException("cache-aware window " + cacheAwareWindow + " and overtake limit "
                    + overtakeLimitNanos + " ns: neither may be negative");
        }
        if (cacheAwareWindow > 0 && overtakeLimitNanos == 0) {
            throw new IllegalArgumentException("cache-aware window " + cacheAwareWindow
                    + " lets requests overtake, but the overtake limit of 0 forbids it");
        }
    }

    /** Chunked prefill, first come first served, one step at a time, whole sequences reserved. */
    public static SchedulerSettings of(int maxBatchedTokens, int maxSequences, int maxWaiting) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, true, 0, SchedulingPolicy.FCFS, 1,
                false, true, 0, DEFAULT_OVERTAKE_LIMIT_NANOS);
    }

    /** Most sequences that run or wait; one more is refused. */
    public int maxAlive() {
        return maxSequences + maxWaiting;
    }

    /** Tokens that a batch may still take on. */
    int budget(ScheduledBatch batch) {
        return maxBatchedTokens - batch.totalTokens();
    }

    /** How many of so many tokens of one sequence a step computes, if the budget reaches. */
    int chunk(int tokenCount) {
        return longPrefillThreshold == 0 ? tokenCount : Math.min(tokenCount, longPrefillThreshold);
    }

    /** Batches that may be in flight at the same time. */
    int maxBatchesInFlight() {
        return asyncScheduling ? 2 : 1;
    }

    /** Device steps that may be submitted and not yet settled. */
    public int maxStepsInFlight() {
        return maxBatchesInFlight() * steps;
    }

    /** Most tokens of one sequence that may be scheduled and not yet settled. */
    public int mostTokensInFlight() {
        return maxBatchesInFlight() * Math.max(maxBatchedTokens, steps);
    }

    public SchedulerSettings withChunkedPrefill(boolean chunkedPrefill) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withLongPrefillThreshold(int longPrefillThreshold) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withPolicy(SchedulingPolicy policy) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withSteps(int steps) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withAsyncScheduling(boolean asyncScheduling) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withReserveWholeSequence(boolean reserveWholeSequence) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withCacheAwareWindow(int cacheAwareWindow) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }

    public SchedulerSettings withOvertakeLimitNanos(long overtakeLimitNanos) {
        return new SchedulerSettings(maxBatchedTokens, maxSequences, maxWaiting, chunkedPrefill, longPrefillThreshold,
                policy, steps, asyncScheduling, reserveWholeSequence, cacheAwareWindow, overtakeLimitNanos);
    }
}
