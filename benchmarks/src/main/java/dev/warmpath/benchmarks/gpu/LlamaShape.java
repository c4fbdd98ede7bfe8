package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;

/**
 * A Llama with tied embeddings, its weights and cache in bf16, and the least that a step of it costs.
 */
record LlamaShape(int layers, int hidden, int heads, int kvHeads, int headSize, int intermediate, int vocabulary,
                  int contextLength) {

    private static final int BF16_BYTES = 2;

    /** The shape of Llama 3.2 1B. Source: its config.json; the context is cut to what is measured. */
    static LlamaShape oneBillion() {
        return new LlamaShape(16, 2048, 32, 8, 64, 8192, 128_256, 16_384);
    }

    /** Small enough for an emulated device. */
    static LlamaShape tiny() {
        return new LlamaShape(2, 64, 4, 2, 32, 128, 256, 512);
    }

    int qkvColumns() {
        return (heads + 2 * kvHeads) * headSize;
    }

    private long layerWeights() {
        long attention = (long) hidden * qkvColumns() + (long) heads * headSize * hidden;
        return attention + 3L * hidden * intermediate;
    }

    private long headWeights() {
        return (long) vocabulary * hidden;
    }

    /** Bytes of every matrix that a step multiplies by, once: all layers and the head. Norms are not counted. */
    long stepWeightBytes() {
        return (layers * layerWeights() + headWeights()) * BF16_BYTES;
    }

    /** Bytes of keys and values of one position in all layers. */
    long keyValueBytesPerToken() {
        return 2L * layers * kvHeads * headSize * BF16_BYTES;
    }

    /** Least nanoseconds of one decode step at batch 1: weights, and keys and values of the context, read once. */
    double decodeFloorNanos(int context, Yardsticks card) {
        return card.readNanos(stepWeightBytes() + context * keyValueBytesPerToken());
    }

    /**
     * Least nanoseconds until the first token of a prompt: each matrix takes its bytes or its arithmetic, whichever is
     * longer, and so does each layer's attention; the head works on one row.
     * @param cached tokens of the prompt that need not be computed
     */
    double firstTokenFloorNanos(int prompt, int cached, Yardsticks card) {
        int computed = prompt - cached;
        double matrices = Math.max(card.readNanos(layerWeights() * BF16_BYTES),
                card.arithmeticNanos(2.0 * layerWeights() * computed));
        var attending = new AttentionShape("", heads, kvHeads, headSize, computed, new int[] {prompt});
        double attention = Math.max(card.readNanos(attending.keyValueBytes(CacheType.BF16)),
                card.arithmeticNanos(attending.causalFlops()));
        return layers * (matrices + attention) + card.readNanos(headWeights() * BF16_BYTES);
    }
}
