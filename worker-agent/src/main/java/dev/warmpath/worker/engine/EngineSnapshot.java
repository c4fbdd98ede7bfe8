package dev.warmpath.worker.engine;

/**
 * The engine's state after a turn, for heartbeats and meters. What counts up does so since the start.
 *
 * @param running              sequences being computed
 * @param waiting              sequences queued behind them
 * @param pendingPromptTokens  prompt tokens of both that still have to be computed
 * @param blockCount           blocks that can hold tokens
 * @param freeBlocks           blocks that no sequence uses, cached ones among them
 * @param cachedBlocks         prefix blocks that can be reused, copies counted once, in use or free
 * @param allocatedSlots       places for tokens in the blocks that sequences use
 * @param unusedSlots          of those, places in partly filled blocks where no token stands
 * @param queriedTokens        tokens of admitted prompts
 * @param hitTokens            of those, found in the cache
 * @param queriedBlocks        full blocks of admitted prompts
 * @param hitBlocks            of those, found in the cache
 * @param recentHitRate        hits over queries in tokens, 0 to 1, over about the last thousand admitted requests
 * @param evictions            keyed blocks overwritten
 * @param recomputePreemptions sequences that gave their blocks up, to compute again what is not found cached
 * @param swapPreemptions      sequences whose blocks were moved to swap space
 * @param swappedOutBlocks     blocks copied to swap space
 * @param swappedInBlocks      blocks copied back
 * @param hostBlockCount       blocks of swap space
 * @param freeHostBlocks       of those, not in use
 * @param steps                device steps
 * @param computedTokens       tokens that went through the model, prompts and answers
 * @param generatedTokens      tokens of answers
 * @param stepNanos            time spent in steps
 */
public record EngineSnapshot(
        int running,
        int waiting,
        long pendingPromptTokens,
        int blockCount,
        int freeBlocks,
        int cachedBlocks,
        long allocatedSlots,
        long unusedSlots,
        long queriedTokens,
        long hitTokens,
        long queriedBlocks,
        long hitBlocks,
        double recentHitRate,
        long evictions,
        long recomputePreemptions,
        long swapPreemptions,
        long swappedOutBlocks,
        long swappedInBlocks,
        int hostBlockCount,
        int freeHostBlocks,
        long steps,
        long computedTokens,
        long generatedTokens,
        long stepNanos) {

    public int usedBlocks() {
        return blockCount - freeBlocks;
    }

    /** The share of blocks that sequences use, 0 to 1; what is only cached counts as free. */
    public double usage() {
        return (double) usedBlocks() / blockCount;
    }

    /** How often a sequence had to give way. */
    public long preemptions() {
        return recomputePreemptions + swapPreemptions;
    }
}
