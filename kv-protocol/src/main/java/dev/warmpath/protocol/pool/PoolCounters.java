package dev.warmpath.protocol.pool;

/**
 * The pool and the work in numbers. Those from {@code queriedTokens} to {@code evictions} count up from the worker's
 * start.
 *
 * @param usedBlocks           that sequences hold
 * @param freeBlocks           that nobody holds, cached ones among them
 * @param cachedBlocks         that carry a key, held or free
 * @param queriedTokens        of admitted prompts
 * @param hitTokens            of those, found in the cache
 * @param computedTokens       that went through the model, of prompts and answers
 * @param generatedTokens      of answers
 * @param steps                of the device
 * @param recomputePreemptions sequences that gave their blocks up to compute again
 * @param swapPreemptions      sequences whose blocks were moved to swap space
 * @param evictions            blocks that were overwritten while they carried a key
 * @param running              sequences being computed
 * @param waiting              sequences queued behind them
 */
public record PoolCounters(
        long usedBlocks,
        long freeBlocks,
        long cachedBlocks,
        long queriedTokens,
        long hitTokens,
        long computedTokens,
        long generatedTokens,
        long steps,
        long recomputePreemptions,
        long swapPreemptions,
        long evictions,
        long running,
        long waiting) {}
