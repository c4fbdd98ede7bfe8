package dev.warmpath.worker.kvcache;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The cached blocks that a sequence begins with, found but not taken: as many in every group, where a group with a
 * sliding window has the null block for those that it need not keep. The cache has one such object: it is valid until
 * the next match or change of the cache, and using it later is an error.
 */
public final class PrefixHit {

    private final int blockSize;
    private final int[][] rows;
    private int blockCount;
    private @Nullable TokenSequence sequence;
    private long cacheVersion;

    PrefixHit(int blockSize, int groupCount) {
        this.blockSize = blockSize;
        this.rows = new int[groupCount][64];
    }

    public int blockCount() {
        return blockCount;
    }

    public int tokenCount() {
        return blockCount * blockSize;
    }

    void begin(TokenSequence sequence, long cacheVersion) {
        this.sequence = sequence;
        this.cacheVersion = cacheVersion;
        blockCount = 0;
    }

    /** The blocks of a group, room for so many; what stood there is lost. */
    int[] row(int group, int capacity) {
        if (rows[group].length < capacity) {
            rows[group] = new int[Math.max(capacity, rows[group].length * 2)];
        }
        return rows[group];
    }

    void setBlockCount(int blockCount) {
        this.blockCount = blockCount;
    }

    int block(int group, int blockIndex) {
        return rows[group][blockIndex];
    }

    /** The blocks of a group themselves, {@link #blockCount} of them: not to be written. */
    int[] blocks(int group) {
        return rows[group];
    }

    int[] toArray(int group) {
        return Arrays.copyOf(rows[group], blockCount);
    }

    boolean isValidFor(TokenSequence sequence, long cacheVersion) {
        return this.sequence == sequence && this.cacheVersion == cacheVersion;
    }
}
