package dev.warmpath.worker.kvcache;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The cached blocks that a sequence begins with, found but not taken: for as many tokens in every group, where a group
 * with a sliding window has the null block for those that it need not keep. The cache has one such object: it is valid until
 * the next match or change of the cache, and using it later is an error.
 */
public final class PrefixHit {

    /** [groups] */
    private final int[] blockSizes;
    private final int[][] rows;
    private int tokenCount;
    private @Nullable TokenSequence sequence;
    private long cacheVersion;

    PrefixHit(KvCacheSettings settings) {
        int groupCount = settings.groups().size();
        this.blockSizes = new int[groupCount];
        Arrays.setAll(blockSizes, settings::blockSize);
        this.rows = new int[groupCount][64];
    }

    /** Of the first group. */
    public int blockCount() {
        return blockCount(0);
    }

    int blockCount(int group) {
        return tokenCount / blockSizes[group];
    }

    /** A multiple of every group's block size. */
    public int tokenCount() {
        return tokenCount;
    }

    void begin(TokenSequence sequence, long cacheVersion) {
        this.sequence = sequence;
        this.cacheVersion = cacheVersion;
        tokenCount = 0;
    }

    /** The blocks of a group, room for so many; what stood there is lost. */
    int[] row(int group, int capacity) {
        if (rows[group].length < capacity) {
            rows[group] = new int[Math.max(capacity, rows[group].length * 2)];
        }
        return rows[group];
    }

    void setTokenCount(int tokenCount) {
        this.tokenCount = tokenCount;
    }

    int block(int group, int blockIndex) {
        return rows[group][blockIndex];
    }

    /** The blocks of a group themselves, as many as it has: not to be written. */
    int[] blocks(int group) {
        return rows[group];
    }

    int[] toArray(int group) {
        return Arrays.copyOf(rows[group], blockCount(group));
    }

    boolean isValidFor(TokenSequence sequence, long cacheVersion) {
        return this.sequence == sequence && this.cacheVersion == cacheVersion;
    }
}
