package dev.warmpath.planner.cost;

/**
 * A decoder's shape, as Hugging Face's {@code config.json} tells it.
 *
 * @param hidden        numbers of a token's state
 * @param intermediate  of a feed-forward network, with a gate
 * @param vocabulary    tokens
 * @param layers        each with full attention
 * @param heads         of a layer that ask
 * @param kvHeads       that are kept
 * @param headDim       numbers of a head
 * @param experts       feed-forward networks of a layer; 1 without a choice of them
 * @param activeExperts that a token goes through
 * @param isTied        whether one matrix is both embedding and output
 * @param contextLength most tokens of a sequence
 */
public record ModelShape(String name, int hidden, int intermediate, int vocabulary, int layers, int heads, int kvHeads,
        int headDim, int experts, int activeExperts, boolean isTied, int contextLength) {

    private static final long GATE_UP_AND_DOWN = 3;

    /** Without experts. */
    static ModelShape dense(String name, int hidden, int intermediate, int vocabulary, int layers, int heads,
            int kvHeads, int headDim, boolean isTied, int contextLength) {
        return new ModelShape(name, hidden, intermediate, vocabulary, layers, heads, kvHeads, headDim, 1, 1, isTied,
                contextLength);
    }

    /** All that lie in memory; biases, some ten-thousandths, are left out. */
    public long parameters() {
        return parameters(experts);
    }

    /** That a token goes through. */
    public long activeParameters() {
        return parameters(activeExperts);
    }

    private long parameters(int counted) {
        long attention = 2L * hidden * headDim * (heads + kvHeads);
        long router = experts == 1 ? 0 : (long) hidden * experts;
        long norms = 2L * hidden;
        long layer = attention + counted * GATE_UP_AND_DOWN * hidden * intermediate + router + norms;
        return layers * layer + hidden + (isTied ? 1L : 2L) * vocabulary * hidden;
    }
}
