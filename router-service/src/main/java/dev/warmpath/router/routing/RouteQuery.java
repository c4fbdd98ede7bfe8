package dev.warmpath.router.routing;

import java.util.List;

/**
 * What is to be placed.
 *
 * @param promptTokens length of the prompt, at least 1
 * @param blockSize    tokens per block, at least 1
 * @param beginning    key of the prompt's first 256 tokens, of the whole blocks among them: prompts that begin alike
 *                     have the same
 * @param conversation key of what the turns of one conversation have in common
 * @param draw         a number drawn by chance for this decision, any of 64 bits, for policies that need one
 * @param busyShare    share of the model's workers that had prompts to compute lately, 0 to 1
 * @param reuse        share of its prompts' tokens that were found cached lately, 0 to 1
 * @param uses         how many requests use its leading blocks now, deepest first, each depth once
 */
public record RouteQuery(int promptTokens, int blockSize, long beginning, long conversation, long draw,
        double busyShare, double reuse, List<PrefixUse> uses) {

    public RouteQuery {
        if (promptTokens < 1 || blockSize < 1) {
            throw new IllegalArgumentException(promptTokens + " tokens in blocks of " + blockSize);
        }
    }

    /** For policies that look at sizes only, in a fleet with nothing to do. */
    public RouteQuery(int promptTokens, int blockSize) {
        this(promptTokens, blockSize, 0, 0, 0, 0, 0, List.of());
    }

    /** Blocks of the prompt, the last, partial one included. */
    int promptBlocks() {
        return Math.ceilDiv(promptTokens, blockSize);
    }
}
