package dev.warmpath.planner.trace;

/**
 * How a trace is read that leaves something open.
 *
 * @param blockTokens  tokens of a block: of tokens and texts, and of a trace of block ids that has others than its
 *                     format; 0: as the format has it, 16 for tokens and texts
 * @param answerTokens of a request that does not say how long its answer is, at least 1
 * @param perSecond    requests in a second of a file without times, at random (Poisson); above 0
 * @param seed         of these times
 */
public record TraceSettings(int blockTokens, int answerTokens, double perSecond, long seed) {

    /** The format's blocks, answers of 128 tokens, a request each second. */
    public static final TraceSettings DEFAULT = new TraceSettings(0, 128, 1, 1);

    /** As workers have them unless told otherwise. */
    static final int USUAL_BLOCK = 16;

    public TraceSettings {
        if (blockTokens < 0 || answerTokens < 1 || !(perSecond > 0)) {
            throw new IllegalArgumentException("blocks of " + blockTokens + " tokens, answers of " + answerTokens + ", "
                    + perSecond + " requests per second");
        }
    }

    /** The same with blocks of so many tokens. */
    public TraceSettings withBlockTokens(int tokens) {
        return new TraceSettings(tokens, answerTokens, perSecond, seed);
    }
}
