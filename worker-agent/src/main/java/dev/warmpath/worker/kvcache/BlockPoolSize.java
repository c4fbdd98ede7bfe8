package dev.warmpath.worker.kvcache;

import java.util.Locale;

/**
 * How many blocks of the KV cache a memory holds:
 * <pre>
 *   bytes per block = 2 (keys, values) · blockSize · kvHeadCount · (headSize · elementBytes + scaleBytes) · layerCount
 *   blocks          = floor(memoryBytes · utilization / bytes per block)
 *   tokens          = blocks · blockSize
 * </pre>
 * Eight heads of 128 two-byte elements in 32 layers and blocks of 16 tokens: 2,097,152 bytes a block; 56 GB hold 26,702
 * blocks, 427,232 tokens. The null block is one of them.
 *
 * @param blockSize    tokens per block, at least 1
 * @param kvHeadCount  heads of keys and values, at least 1
 * @param headSize     elements of one key or value vector, at least 1
 * @param elementBytes bytes of one element in the cache, at least 1
 * @param scaleBytes   bytes of the scale that each key or value vector has beside its elements, at least 0: none
 * @param layerCount   layers, each with keys and values of its own, at least 1
 * @param memoryBytes  what may be used, at least 0
 * @param utilization  share of it that the cache takes, above 0, at most 1
 */
public record BlockPoolSize(int blockSize, int kvHeadCount, int headSize, int elementBytes, int scaleBytes,
        int layerCount, long memoryBytes, double utilization) {

    public BlockPoolSize {
        if (blockSize < 1 || kvHeadCount < 1 || headSize < 1 || elementBytes < 1 || scaleBytes < 0
                || layerCount < 1) {
            throw new IllegalArgumentException(
                    "no block has %d tokens, %d heads of %d elements of %d bytes, scales of %d bytes and %d layers"
                            .formatted(blockSize, kvHeadCount, headSize, elementBytes, scaleBytes, layerCount));
        }
        if (memoryBytes < 0) {
            throw new IllegalArgumentException("memory of " + memoryBytes + " bytes is negative");
        }
        // written so that NaN fails, too
        if (!(utilization > 0 && utilization <= 1)) {
            throw new IllegalArgumentException("utilization " + utilization + " is outside 0 (excluded) to 1");
        }
    }

    /** The same blocks in another memory, all of it used. */
    public BlockPoolSize withMemory(long bytes) {
        return withMemory(bytes, 1);
    }

    /** The same blocks in a share of another memory. */
    public BlockPoolSize withMemory(long bytes, double share) {
        return new BlockPoolSize(blockSize, kvHeadCount, headSize, elementBytes, scaleBytes, layerCount, bytes, share);
    }

    /** Just so many blocks of this kind. */
    public BlockPoolSize withBlockCount(int blockCount) {
        return withMemory(Math.multiplyExact(bytesPerBlock(), blockCount));
    }

    public long bytesPerBlock() {
        long perVector = (long) headSize * elementBytes + scaleBytes;
        return Math.multiplyExact(Math.multiplyExact(2L * kvHeadCount * layerCount, perVector), blockSize);
    }

    public long blockCount() {
        return (long) (memoryBytes * utilization) / bytesPerBlock();
    }

    public long tokenCount() {
        return blockCount() * blockSize;
    }

    /** What the blocks take of the memory, in bytes. */
    public long bytes() {
        return blockCount() * bytesPerBlock();
    }

    /** The whole calculation in one line, for the log. */
    public String arithmetic() {
        return arithmeticOfBlock() + "; " + arithmeticOfPool();
    }

    /** The first half of {@link #arithmetic}: what a block takes. */
    public String arithmeticOfBlock() {
        String vector = String.format(Locale.ROOT, "%,d elements x %,d bytes", headSize, elementBytes);
        return String.format(Locale.ROOT,
                "2 (keys, values) x %,d tokens x %,d heads x %s x %,d layers = %,d bytes a block", blockSize,
                kvHeadCount, scaleBytes == 0 ? vector : "(%s + %d bytes of scale)".formatted(vector, scaleBytes),
                layerCount, bytesPerBlock());
    }

    /** The second half: what the memory holds. */
    public String arithmeticOfPool() {
        return String.format(Locale.ROOT, "%,d bytes x %s hold %,d blocks = %,d tokens",
                memoryBytes, utilization, blockCount(), tokenCount());
    }
}
