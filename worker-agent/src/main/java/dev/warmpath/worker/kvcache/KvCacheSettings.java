package dev.warmpath.worker.kvcache;

/**
 * Shape and habits of the KV cache.
 *
 * @param blockCount    blocks in all; block 0 is the null block, so one less can be used; at least 2
 * @param blockSize     tokens per block, at least 1
 * @param prefixCaching false: nothing is kept beyond its request, nothing announced
 * @param verifyTokens  true: a hit is confirmed by comparing token ids, beyond the 32-byte hash (D5);
 *                      costs 4 bytes per token of the cache
 */
public record KvCacheSettings(int blockCount, int blockSize, boolean prefixCaching, boolean verifyTokens) {

    public KvCacheSettings {
        if (blockCount < 2) {
            throw new IllegalArgumentException("block count " + blockCount
                    + " leaves nothing beside the null block, at least 2 are needed");
        }
        if (blockSize < 1) {
            throw new IllegalArgumentException("block size " + blockSize + " is below 1");
        }
        if ((long) blockCount * blockSize > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(blockCount + " blocks of " + blockSize + " tokens are "
                    + (long) blockCount * blockSize + " slots, at most " + Integer.MAX_VALUE + " can be numbered");
        }
    }

    /** Caching and token verification on. */
    public static KvCacheSettings of(int blockCount, int blockSize) {
        return new KvCacheSettings(blockCount, blockSize, true, true);
    }
}
