package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Sampling;
import java.util.Arrays;

/** A sequence in a test: its tokens so far, the blocks it may use, and how many of its positions are in the cache. */
final class RunningSequence {

    /** Of the first group of the cache, which sees everything. */
    final int[] blockTable;
    private final int[][] tables;
    private final int[] windows;
    private int[] tokens;
    private int computed;

    /** @param tables of each group @param windows likewise */
    RunningSequence(int[] prompt, int[][] tables, int[] windows) {
        this.tokens = prompt.clone();
        this.blockTable = tables[0];
        this.tables = tables;
        this.windows = windows;
    }

    /** Takes the leading positions as cached already: the blocks hold them. */
    RunningSequence withCached(int tokenCount) {
        computed = tokenCount;
        return this;
    }

    /** Shares the leading blocks of another's tables. */
    void takeBlocks(RunningSequence other, int count) {
        for (int group = 0; group < tables.length; group++) {
            System.arraycopy(other.tables[group], 0, tables[group], 0, count);
        }
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
        forgetUnseen(batch.blockSize());
        batch.add(tokens, computed, count, tables, blocks, draws ? Sampling.greedy() : null);
        computed += count;
        return count;
    }

    /** Blocks that no token sees any more become the null block, as the cache makes them. */
    private void forgetUnseen(int blockSize) {
        for (int group = 0; group < tables.length; group++) {
            int firstSeen = windows[group] == AttentionSpec.NO_WINDOW ? 0 : Math.max(0, computed - windows[group] + 1);
            Arrays.fill(tables[group], 0, firstSeen / blockSize, 0);
        }
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
