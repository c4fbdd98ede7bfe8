package dev.warmpath.worker.compute;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * What came back from a step: the drawn tokens in the order of the sampled rows, or why nothing was drawn from a row.
 * Made once, filled by each {@code await}; native memory, freed with this object.
 */
public final class StepOutput {

    private final MemorySegment tokens;
    private final MemorySegment logprobs;
    private final int capacity;
    private int count;

    public StepOutput(int maxSequences) {
        this.capacity = maxSequences;
        var arena = Arena.ofAuto();
        this.tokens = arena.allocate(ValueLayout.JAVA_INT, maxSequences);
        this.logprobs = arena.allocate(ValueLayout.JAVA_FLOAT, maxSequences);
    }

    public int count() {
        return count;
    }

    /** False if the row's logits were NaN or +infinity, or all -infinity: nothing was drawn from them. */
    public boolean isUsable(int index) {
        return token(index) != SampledTokens.NO_TOKEN;
    }

    /** True if nothing was drawn because the row's own adjustment masks every token. */
    public boolean isMasked(int index) {
        return token(index) == SampledTokens.MASKED;
    }

    /** The drawn token, or {@link SampledTokens#NO_TOKEN} or {@link SampledTokens#MASKED}. */
    public int token(int index) {
        return tokens.getAtIndex(ValueLayout.JAVA_INT, Objects.checkIndex(index, count));
    }

    /** Log-probability (natural, ≤ 0) of the drawn token; NaN where none was asked for, or nothing was drawn. */
    public float logprob(int index) {
        return logprobs.getAtIndex(ValueLayout.JAVA_FLOAT, Objects.checkIndex(index, count));
    }

    /** For backends: nothing came back. */
    void clear() {
        count = 0;
    }

    /**
     * For backends: takes what a step drew.
     * @param drawn         int32 [≥ rowCount]
     * @param drawnLogprobs float32 [≥ rowCount]
     */
    public void fill(MemorySegment drawn, MemorySegment drawnLogprobs, int rowCount) {
        Objects.checkFromToIndex(0, rowCount, capacity);
        clear();
        MemorySegment.copy(drawn, 0, tokens, 0, (long) rowCount * Integer.BYTES);
        MemorySegment.copy(drawnLogprobs, 0, logprobs, 0, (long) rowCount * Float.BYTES);
        count = rowCount;
    }

    public int capacity() {
        return capacity;
    }
}
