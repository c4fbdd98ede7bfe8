package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Sampling;
import java.util.Arrays;

/** A sequence in a test: its tokens so far, the blocks it may use, and how many of its positions are in the cache. */
final class RunningSequence {

    final int[] blockTable;
    private int[] tokens;
    private int computed;

    RunningSequence(int[] prompt, int[] blockTable) {
        this.tokens = prompt.clone();
        this.blockTable = blockTable;
    }

    /** Takes the leading positions as cached already: the blocks hold them. */
    RunningSequence withCached(int tokenCount) {
        computed = tokenCount;
        return this;
    }

    int uncomputed() {
        return tokens.length - computed;
    }

    int length() {
        return tokens.length;
    }

    int[] tokensFrom(int position) {
        return Arrays.copyOfRange(tokens, position, tokens.length);
    }

    /** Adds up to {@code limit} uncomputed tokens; draws greedily if that reaches the end. @return tokens added */
    int addTo(InputBatch batch, int limit) {
        int count = Math.min(limit, uncomputed());
        boolean draws = count == uncomputed();
        int blocks = Math.ceilDiv(computed + count, batch.blockSize());
        batch.add(tokens, computed, count, blockTable, blocks, draws ? Sampling.greedy() : null);
        computed += count;
        return count;
    }

    /** Goes on with another token than the one that was drawn. */
    void replaceLast(int token) {
        tokens[tokens.length - 1] = token;
    }

    void append(int token) {
        tokens = Arrays.copyOf(tokens, tokens.length + 1);
        tokens[tokens.length - 1] = token;
    }
}
