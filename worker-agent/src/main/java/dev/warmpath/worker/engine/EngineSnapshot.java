package dev.warmpath.worker.engine;

/**
 * The engine's state after a turn, for heartbeats and meters.
 *
 * @param running             sequences being computed
 * @param waiting             sequences queued behind them
 * @param pendingPromptTokens prompt tokens of both that still have to be computed
 * @param blockCount          blocks that can hold tokens
 * @param freeBlocks          blocks that no sequence uses, cached ones among them
 * @param cachedBlocks        prefix blocks that can be reused, copies counted once, in use or free
 * @param queriedTokens       tokens of admitted prompts, since start
 * @param hitTokens           of those, found in the cache
 * @param evictions           keyed blocks overwritten, since start
 * @param preemptions         since start
 * @param steps               since start
 * @param computedTokens      tokens that went through the model, prompts and answers, since start
 * @param generatedTokens     since start
 * @param stepNanos           time spent in steps, since start
 */
public record EngineSnapshot(
        int running,
        int waiting,
        long pendingPromptTokens,
        int blockCount,
        int freeBlocks,
        int cachedBlocks,
        long queriedTokens,
        long hitTokens,
        long evictions,
        long preemptions,
        long steps,
        long computedTokens,
        long generatedTokens,
        long stepNanos) {

    public int usedBlocks() {
        return blockCount - freeBlocks;
    }
}
