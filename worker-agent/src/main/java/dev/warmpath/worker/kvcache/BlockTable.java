package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.Arrays;

/**
 * Where a sequence's keys and values lie: entry i is the block that holds the positions i * blockSize to
 * (i + 1) * blockSize - 1. In a group with a sliding window the entries that no token sees any more are the null block,
 * 0. Written by the cache only.
 */
public final class BlockTable {

    private final int blockSize;
    private int[] blocks = new int[8];
    private int blockCount;

    BlockTable(int blockSize) {
        this.blockSize = blockSize;
    }

    public int blockCount() {
        return blockCount;
    }

    /** @param blockIndex 0 to {@link #blockCount()} - 1 */
    public int block(int blockIndex) {
        if (blockIndex >= blockCount) {
            throw new IndexOutOfBoundsException("entry " + blockIndex + " of a block table of " + blockCount);
        }
        return blocks[blockIndex];
    }

    /** The place of a position's key and value in the paged cache: block * blockSize + offset in the block. */
    public int slot(int position) {
        return block(position / blockSize) * blockSize + position % blockSize;
    }

    /** The blocks in order; a new array, for logs and tests. */
    public int[] toArray() {
        return Arrays.copyOf(blocks, blockCount);
    }

    /** The entries themselves, {@link #blockCount} of them, for filling a step's batch: not to be written. */
    public int[] blocks() {
        return blocks;
    }

    void add(int block) {
        if (blockCount == blocks.length) {
            blocks = Arrays.copyOf(blocks, blockCount * 2);
        }
        blocks[blockCount++] = block;
    }

    /** Adds null blocks until there are so many entries. */
    void skipTo(int count) {
        while (blockCount < count) {
            add(NULL_BLOCK);
        }
    }

    void set(int blockIndex, int block) {
        blocks[blockIndex] = block;
    }

    void clear() {
        blockCount = 0;
    }

    @Override
    public String toString() {
        return Arrays.toString(toArray());
    }
}
