package dev.warmpath.worker.engine;

import dev.warmpath.worker.scheduler.Sequence;

/**
 * When a generation passed each point of its way, on the engine's clock, {@link #NEVER} where it did not come
 * so far; and what became of it.
 *
 * @param lackedBlocksNanos when it was first to be admitted and found too few blocks
 * @param cachedTokens      of the prompt
 * @param preemptions       how often it had to give its blocks up
 */
public record GenerationTimes(long submittedNanos, long lackedBlocksNanos, long admittedNanos, long firstTokenNanos,
        long endedNanos, int promptTokens, int cachedTokens, int completionTokens, int preemptions) {

    public static final long NEVER = Sequence.NEVER;

    static GenerationTimes of(Generation generation, long endedNanos) {
        Sequence sequence = generation.sequence();
        return new GenerationTimes(generation.submittedNanos(), sequence.lackedBlocksNanos(), sequence.admittedNanos(),
                generation.firstTokenNanos, endedNanos, sequence.tokens().promptLength(),
                sequence.tokens().cachedTokens(), sequence.completionTokens(), sequence.preemptionCount());
    }

    public boolean lackedBlocks() {
        return lackedBlocksNanos != NEVER;
    }

    public boolean isAdmitted() {
        return admittedNanos != NEVER;
    }

    public boolean hasToken() {
        return firstTokenNanos != NEVER;
    }

    public long admittedOrEndedNanos() {
        return isAdmitted() ? admittedNanos : endedNanos;
    }
}
