package dev.warmpath.worker.kvcache;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The cached blocks that a sequence begins with, found but not taken. The cache has one such object: it is valid until
 * the next match or change of the cache, and using it later is an error.
 */
public final class PrefixHit {

    private final int blockSize;
    private int[] blocks = new int[64];
    private int blockCount;
    private @Nullable TokenSequence sequence;
    private long cacheVersion;

    PrefixHit(int blockSize) {
        this.blockSize = blockSize;
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

    void add(int block) {
        if (blockCount == blocks.length) {
            blocks = Arrays.copyOf(blocks, blockCount * 2);
        }
        blocks[blockCount++] = block;
    }

    int block(int blockIndex) {
        return blocks[blockIndex];
    }

    int[] toArray() {
        return Arrays.copyOf(blocks, blockCount);
    }

    boolean isValidFor(TokenSequence sequence, long cacheVersion) {
        return this.sequence == sequence && this.cacheVersion == cacheVersion;
    }
}
