package dev.warmpath.worker.compute;

/**
 * What one block of the paged cache holds.
 * @param layerCount  layers, each with its own keys and values
 * @param kvHeadCount heads of keys and values; query heads share them in equal groups
 * @param headSize    elements of one key or value vector, even
 * @param blockSize   positions in a block
 */
public record CacheShape(int layerCount, int kvHeadCount, int headSize, int blockSize) {

    public CacheShape {
        if (layerCount < 1 || kvHeadCount < 1 || blockSize < 1 || headSize < 2 || headSize % 2 != 0) {
            throw new IllegalArgumentException("no cache has %d layers, %d KV heads of size %d, blocks of %d tokens"
                    .formatted(layerCount, kvHeadCount, headSize, blockSize));
        }
    }

    /** Elements of keys in one block of one layer; as many again of values. */
    public int blockElements() {
        return Math.multiplyExact(Math.multiplyExact(kvHeadCount, headSize), blockSize);
    }
}
