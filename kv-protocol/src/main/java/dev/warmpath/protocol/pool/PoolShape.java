package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;

/**
 * What does not change in the life of a pool.
 *
 * @param blockSize      tokens in a block of the first group of layers
 * @param blockCount     blocks on the device, 1 to {@link #MAX_BLOCKS}; block 0 is the null block, which is never used
 * @param hostBlockCount blocks of swap space, 0 to {@link #MAX_HOST_BLOCKS}: of more, the first of them
 * @param groupCount     groups of layers, each with a table of its own
 */
public record PoolShape(int blockSize, int blockCount, int hostBlockCount, int groupCount) {

    /** Above any real pool: 16 million. */
    public static final int MAX_BLOCKS = 1 << 24;
    /** Each is told of in every frame, and to every page: a million. */
    public static final int MAX_HOST_BLOCKS = 1 << 20;

    public PoolShape {
        if (blockSize < 1 || groupCount < 1 || blockCount < 1 || blockCount > MAX_BLOCKS
                || hostBlockCount < 0 || hostBlockCount > MAX_HOST_BLOCKS) {
            throw new EventFormatException("a pool of " + blockCount + " and " + hostBlockCount + " blocks of "
                    + blockSize + " tokens in " + groupCount + " groups is not possible");
        }
    }
}
