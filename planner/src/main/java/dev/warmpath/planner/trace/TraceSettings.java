package dev.warmpath.planner.trace;

/**
 * How a trace is read that leaves something open.
 *
 * @param blockTokens tokens of a block, where the trace has tokens or text; a trace of block ids says it by its format
 */
public record TraceSettings(int blockTokens) {

    /** Blocks of 16 tokens, as workers have them unless told otherwise. */
    public static final TraceSettings DEFAULT = new TraceSettings(16);
}
