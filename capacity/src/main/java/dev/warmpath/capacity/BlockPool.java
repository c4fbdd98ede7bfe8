package dev.warmpath.capacity;

/**
 * A worker's pool of blocks.
 *
 * @param blocks that its memory has room for
 * @param tokens in them
 */
public record BlockPool(long blocks, long tokens) {

    /** So much of a card's memory is used unless it is said otherwise, by vLLM and by our workers. */
    public static final double USUAL_MEMORY_SHARE = 0.9;

    /** Blocks are {@code floor(bytes / bytes per block)}. @param bytes that are there for blocks; below 0: none */
    public static BlockPool of(long bytes, BlockShape shape) {
        long blocks = Math.max(0, bytes) / shape.bytesPerBlock();
        return new BlockPool(blocks, blocks * shape.blockTokens());
    }

    /**
     * What a device has for blocks: the part of its memory that may be used, without weights and workspace. Below 0 if
     * these do not fit.
     *
     * @param memoryShare above 0, at most 1
     */
    public static long availableBytes(long memoryBytes, double memoryShare, long weightBytes, long workspaceBytes) {
        return (long) (memoryBytes * memoryShare) - weightBytes - workspaceBytes;
    }

    /** How many sequences of so many tokens it holds at the same time, if they share nothing. */
    public long sequences(int tokensEach, BlockShape shape) {
        return blocks / Math.ceilDiv(tokensEach, shape.blockTokens());
    }
}
