package dev.warmpath.worker.compute;

/**
 * Handle of the paged keys and values of all layers; a block holds {@code blockSize} consecutive positions of one
 * sequence in every layer. How a block is laid out inside is the backend's business; between blocks nothing may be
 * assumed.
 */
public interface KvCache {

    CacheShape shape();

    /** Number of blocks, the null block 0 included. */
    int blockCount();

    /** Number of blocks in its host tier; 0 if it has none. */
    int hostBlockCount();
}
