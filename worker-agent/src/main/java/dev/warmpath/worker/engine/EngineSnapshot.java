package dev.warmpath.worker.engine;

/**
 * The engine's state after a turn, for heartbeats and meters. What counts up does so since the start.
 *
 * @param stepAgeNanos how long the device step that is running now has been running; 0 while none is
 */
public record EngineSnapshot(Load load, Pool pool, PrefixCache prefixCache, Swap swap, Work work, long stepAgeNanos) {

    EngineSnapshot withStepAge(long nanos) {
        return nanos == stepAgeNanos ? this : new EngineSnapshot(load, pool, prefixCache, swap, work, nanos);
    }

    /**
     * Who is being served, and who is not yet.
     *
     * @param running             sequences being computed
     * @param waiting             sequences queued behind them
     * @param pendingPromptTokens prompt tokens of both that still have to be computed
     */
    public record Load(int running, int waiting, long pendingPromptTokens) {}

    /**
     * The blocks on the device.
     *
     * @param blockCount     blocks that can hold tokens
     * @param freeBlocks     blocks that no sequence uses, cached ones among them
     * @param cachedBlocks   prefix blocks that can be reused, copies counted once, in use or free
     * @param allocatedSlots places for tokens in the blocks that sequences use
     * @param unusedSlots    of those, places in partly filled blocks where no token stands
     */
    public record Pool(int blockCount, int freeBlocks, int cachedBlocks, long allocatedSlots, long unusedSlots) {

        public int usedBlocks() {
            return blockCount - freeBlocks;
        }

        /** The share of blocks that sequences use, 0 to 1; what is only cached counts as free. */
        public double usage() {
            return (double) usedBlocks() / blockCount;
        }

        /** The share of the slots of used blocks that hold no token, 0 to 1. */
        public double fragmentation() {
            return allocatedSlots == 0 ? 0 : (double) unusedSlots / allocatedSlots;
        }
    }

    /**
     * What admissions found, and what became of what they could have found.
     *
     * @param queriedTokens tokens of admitted prompts
     * @param hitTokens     of those, found in the cache
     * @param queriedBlocks full blocks of admitted prompts
     * @param hitBlocks     of those, found in the cache
     * @param recentHitRate hits over queries in tokens, 0 to 1, over about the last thousand admitted requests
     * @param collisions    blocks that had the 8-byte key looked for, but another hash or other tokens
     * @param evictions     keyed blocks overwritten
     * @param resets        how often the whole cache was forgotten
     */
    public record PrefixCache(long queriedTokens, long hitTokens, long queriedBlocks, long hitBlocks,
            double recentHitRate, long collisions, long evictions, long resets) {}

    /**
     * Host memory for the blocks of sequences that have to give way.
     *
     * @param blockCount blocks of swap space
     * @param freeBlocks of those, not in use
     * @param outBlocks  blocks copied from the device
     * @param inBlocks   blocks copied back
     */
    public record Swap(int blockCount, int freeBlocks, long outBlocks, long inBlocks) {

        public int usedBlocks() {
            return blockCount - freeBlocks;
        }
    }

    /**
     * What has been done since the start.
     *
     * @param steps                device steps
     * @param stepNanos            time spent on device work: copying, submitting, awaiting; scheduling is not in it
     * @param computedTokens       tokens that went through the model, prompts and answers
     * @param generatedTokens      tokens of answers
     * @param recomputePreemptions sequences that gave their blocks up, to compute again what is not found cached
     * @param swapPreemptions      sequences whose blocks were moved to swap space
     * @param refusedGraphs        steps that could not be captured or replayed as a graph, and are slower without
     */
    public record Work(long steps, long stepNanos, long computedTokens, long generatedTokens,
            long recomputePreemptions, long swapPreemptions, long refusedGraphs) {

        /** How often a sequence had to give way. */
        public long preemptions() {
            return recomputePreemptions + swapPreemptions;
        }
    }
}
