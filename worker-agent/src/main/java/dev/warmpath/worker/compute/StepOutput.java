package dev.warmpath.worker.compute;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * What came back from a step: the drawn tokens in the order of the sampled rows, or why nothing was drawn from a row;
 * and how likely tokens are, by {@link ScoredTokens}' rows. Made once, filled by each {@code await}; native memory,
 * freed with this object.
 */
public final class StepOutput {

    private final MemorySegment tokens;
    private final MemorySegment logprobs;
    private final MemorySegment scoredLogprobs;
    private final MemorySegment ranks;
    private final MemorySegment topIds;
    private final MemorySegment topLogprobs;
    private final int capacity;
    private final int scoredCapacity;
    private int count;
    private int scoredCount;

    /** For steps that tell nothing of likelihoods. */
    public StepOutput(int maxSequences) {
        this(maxSequences, 0);
    }

    public StepOutput(int maxSequences, int maxScoredRows) {
        this.capacity = maxSequences;
        this.scoredCapacity = maxScoredRows;
        var arena = Arena.ofAuto();
        this.tokens = arena.allocate(ValueLayout.JAVA_INT, maxSequences);
        this.logprobs = arena.allocate(ValueLayout.JAVA_FLOAT, maxSequences);
        this.scoredLogprobs = arena.allocate(ValueLayout.JAVA_FLOAT, maxScoredRows);
        this.ranks = arena.allocate(ValueLayout.JAVA_INT, maxScoredRows);
        this.topIds = arena.allocate(ValueLayout.JAVA_INT, (long) maxScoredRows * ScoredTokens.MOST_LIKELIEST);
        this.topLogprobs = arena.allocate(ValueLayout.JAVA_FLOAT, (long) maxScoredRows * ScoredTokens.MOST_LIKELIEST);
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

    /** Rows of {@link ScoredTokens} that came back. */
    public int scoredCount() {
        return scoredCount;
    }

    /** False if nothing is told of this row, because its logits are unusable. */
    public boolean isScored(int row) {
        return rank(row) != ScoredTokens.UNUSABLE;
    }

    /** See {@link ScoredTokens#ranks}, here and below. */
    public int rank(int row) {
        return ranks.getAtIndex(ValueLayout.JAVA_INT, Objects.checkIndex(row, scoredCount));
    }

    public float scoredLogprob(int row) {
        return scoredLogprobs.getAtIndex(ValueLayout.JAVA_FLOAT, Objects.checkIndex(row, scoredCount));
    }

    /** @param place 0 is the likeliest */
    public int topId(int row, int place) {
        return topIds.getAtIndex(ValueLayout.JAVA_INT, topIndex(row, place));
    }

    public float topLogprob(int row, int place) {
        return topLogprobs.getAtIndex(ValueLayout.JAVA_FLOAT, topIndex(row, place));
    }

    private long topIndex(int row, int place) {
        return (long) Objects.checkIndex(row, scoredCount) * ScoredTokens.MOST_LIKELIEST
                + Objects.checkIndex(place, ScoredTokens.MOST_LIKELIEST);
    }

    /** For backends: nothing came back. */
    void clear() {
        count = 0;
        scoredCount = 0;
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

    /**
     * For backends, after {@link #fill}: takes what a step tells of likelihoods, in native order.
     * @param targetLogprobs float32 [≥ rowCount]
     * @param targetRanks    int32 [≥ rowCount]
     * @param ids            int32 [≥ rowCount, {@value ScoredTokens#MOST_LIKELIEST}]
     * @param idLogprobs     float32, likewise
     */
    public void fillScores(MemorySegment targetLogprobs, MemorySegment targetRanks, MemorySegment ids,
            MemorySegment idLogprobs, int rowCount) {
        Objects.checkFromToIndex(0, rowCount, scoredCapacity);
        long bytes = (long) rowCount * Integer.BYTES;
        MemorySegment.copy(targetLogprobs, 0, scoredLogprobs, 0, bytes);
        MemorySegment.copy(targetRanks, 0, ranks, 0, bytes);
        MemorySegment.copy(ids, 0, topIds, 0, bytes * ScoredTokens.MOST_LIKELIEST);
        MemorySegment.copy(idLogprobs, 0, topLogprobs, 0, bytes * ScoredTokens.MOST_LIKELIEST);
        scoredCount = rowCount;
    }

    public int capacity() {
        return capacity;
    }

    public int scoredCapacity() {
        return scoredCapacity;
    }
}
