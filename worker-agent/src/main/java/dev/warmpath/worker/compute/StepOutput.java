package dev.warmpath.worker.compute;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * What came back from a step: the drawn tokens in the order of the sampled sequences. Made once, filled by each
 * {@code await}; native memory, so that a device can copy into it, freed with this object.
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

    public int token(int index) {
        return tokens.getAtIndex(ValueLayout.JAVA_INT, Objects.checkIndex(index, count));
    }

    /** Log-probability (natural, ≤ 0) of the drawn token; NaN where the sequence did not ask for it. */
    public float logprob(int index) {
        return logprobs.getAtIndex(ValueLayout.JAVA_FLOAT, Objects.checkIndex(index, count));
    }

    /** For backends: int32 [capacity], to be filled before {@link #filled}. */
    public MemorySegment tokens() {
        return tokens;
    }

    /** For backends: float32 [capacity], to be filled before {@link #filled}. */
    public MemorySegment logprobs() {
        return logprobs;
    }

    /** For backends: says how many rows are valid now. */
    public void filled(int rowCount) {
        Objects.checkFromToIndex(0, rowCount, capacity);
        this.count = rowCount;
    }

    public int capacity() {
        return capacity;
    }
}
