package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Sequences that attend in one call, and the least that this costs.
 * @param name           as the table calls it
 * @param newTokens      tokens of each sequence that attend, its last ones; 1 is decode
 * @param contextLengths positions of each sequence, the new ones included
 */
record AttentionShape(String name, int queryHeads, int kvHeads, int headSize, int newTokens, int[] contextLengths) {

    private static final int KEYS_AND_VALUES = 2;
    /** A multiplication and an addition, for the score and again for the weighted value. */
    private static final int FLOPS_PER_PAIR = 4;

    /** An 8B-class Llama's heads: 32 over 8, of 128. */
    static AttentionShape of(String name, int newTokens, int... contextLengths) {
        return new AttentionShape(name, 32, 8, 128, newTokens, contextLengths);
    }

    static AttentionShape uniform(String name, int sequences, int newTokens, int contextLength) {
        int[] lengths = new int[sequences];
        Arrays.fill(lengths, contextLength);
        return of(name, newTokens, lengths);
    }

    /** Lengths drawn uniformly from {@code least} to {@code most}, both included and both there. */
    static AttentionShape ragged(String name, int sequences, int least, int most) {
        int[] lengths = new SplittableRandom(5).ints(sequences, least, most + 1).toArray();
        lengths[0] = least;
        lengths[1] = most;
        return of(name, 1, lengths);
    }

    int sequences() {
        return contextLengths.length;
    }

    int tokens() {
        return sequences() * newTokens;
    }

    int longestContext() {
        return Arrays.stream(contextLengths).max().orElseThrow();
    }

    /**
     * Bytes of keys and values, each cached position once: Σ contextLength · kvHeads · 2 · {@link #vectorBytes}.
     * Queries, outputs and block tables, under one percent from a context of 512 on, are not counted.
     */
    long keyValueBytes(CacheType type) {
        return Arrays.stream(contextLengths).asLongStream().sum() * kvHeads * KEYS_AND_VALUES * vectorBytes(type);
    }

    /** Of a key or value of one head: its elements, and its scale if the type has some. */
    int vectorBytes(CacheType type) {
        return headSize * type.bytes() + type.scaleBytes();
    }

    /** Σ over new tokens of the positions each sees (its own included) · queryHeads · headSize · 4. */
    double causalFlops() {
        double pairs = 0;
        for (int length : contextLengths) {
            double first = length - newTokens + 1.0;
            pairs += newTokens * (first + length) / 2;
        }
        return pairs * queryHeads * headSize * FLOPS_PER_PAIR;
    }
}
