package dev.warmpath.worker.scheduler;

/**
 * How much one step takes on, and how many may wait.
 *
 * @param maxBatchedTokens     most tokens computed in a step, at least {@code maxSequences}: each may decode one
 * @param maxSequences         most sequences that run side by side
 * @param maxWaiting           a sequence that finds so many waiting, preempted ones included, is refused
 * @param chunkedPrefill       true: a prompt is computed in as many pieces as the budget asks for; false: at once, or
 *                             later
 * @param longPrefillThreshold most tokens of one prompt in a step, so that a long one leaves room for others; 0 = off
 */
public record SchedulerSettings(
        int maxBatchedTokens, int maxSequences, int maxWaiting, boolean chunkedPrefill, int longPrefillThreshold) {

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
    }
}
