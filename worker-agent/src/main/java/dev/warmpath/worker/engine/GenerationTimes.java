package dev.warmpath.worker.engine;

import dev.warmpath.worker.scheduler.Sequence;

/**
 * When a generation passed each point of its way, on the engine's clock, {@link Sequence#NEVER} where it did not come
 * so far; and what became of it.
 *
 * @param lackedBlocksNanos when it was first to be admitted and found too few blocks
 * @param cachedTokens      of the prompt
 * @param preemptions       how often it had to give its blocks up
 */
public record GenerationTimes(long submittedNanos, long lackedBlocksNanos, long admittedNanos, long firstTokenNanos,
        long endedNanos, int promptTokens, int cachedTokens, int completionTokens, int preemptions) {

    static GenerationTimes of(Generation generation, long endedNanos) {
        Sequence sequence = generation.sequence();
        return new GenerationTimes(generation.submittedNanos(), sequence.lackedBlocksNanos(), sequence.admittedNanos(),
                generation.firstTokenNanos, endedNanos, sequence.tokens().promptLength(),
                sequence.tokens().cachedTokens(), sequence.completionTokens(), sequence.preemptionCount());
    }

    public boolean lackedBlocks() {
        return lackedBlocksNanos != Sequence.NEVER;
    }

    public boolean isAdmitted() {
        return admittedNanos != Sequence.NEVER;
    }

    public boolean hasToken() {
        return firstTokenNanos != Sequence.NEVER;
    }

    public long admittedOrEndedNanos() {
        return isAdmitted() ? admittedNanos : endedNanos;
    }
}
