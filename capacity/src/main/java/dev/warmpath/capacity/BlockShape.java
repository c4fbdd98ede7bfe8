package dev.warmpath.capacity;

/**
 * What a block of the cache holds: keys and values of so many tokens, in each layer, for each key-value head.
 *
 * @param blockTokens of a block, at least 1, as all that follow
 * @param layers      with full attention
 * @param kvHeads     of a layer; fewer than heads that ask, with grouped queries
 * @param headDim     numbers of a head
 * @param valueBytes  of a number: 2 for bfloat16, 1 for fp8
 */
public record BlockShape(int blockTokens, int layers, int kvHeads, int headDim, int valueBytes) {

    /** Keys, and values. */
    private static final long PLANES = 2;

    public BlockShape {
        if (blockTokens < 1 || layers < 1 || kvHeads < 1 || headDim < 1 || valueBytes < 1) {
            throw new IllegalArgumentException("a block of " + blockTokens + " tokens, " + layers + " layers, "
                    + kvHeads + " heads of " + headDim + " numbers of " + valueBytes + " bytes");
        }
    }

    /** {@code 2 x block tokens x heads x head dimension x bytes x layers}, as in vLLM's attention specification. */
    public long bytesPerBlock() {
        return bytesPerToken() * blockTokens;
    }

    public long bytesPerToken() {
        return PLANES * kvHeads * headDim * valueBytes * layers;
    }
}
