package dev.warmpath.worker.kvcache;

/**
 * Counters of the prefix cache since its start; they only grow. A request counts when it is admitted, not when it is
 * looked up, so that one which waits for blocks over many steps counts once. One that skips the cache's answers, and all
 * of a cache without prefix caching, do not count.
 *
 * @param requests               first admissions
 * @param queriedTokens          their tokens
 * @param hitTokens              how many of those were cached
 * @param queriedBlocks          their full blocks
 * @param hitBlocks              how many of those were cached
 * @param preemptedRequests      admissions after a preemption, kept apart: they find what they left themselves
 * @param preemptedQueriedTokens their tokens
 * @param preemptedHitTokens     how many of those were cached
 * @param collisions             blocks that had the key looked for, but another hash or other tokens
 * @param evictedBlocks          blocks that lost their key because they were needed for something else
 * @param resets                 how often the whole cache was forgotten
 */
public record PrefixCacheStats(
        long requests,
        long queriedTokens,
        long hitTokens,
        long queriedBlocks,
        long hitBlocks,
        long preemptedRequests,
        long preemptedQueriedTokens,
        long preemptedHitTokens,
        long collisions,
        long evictedBlocks,
        long resets) {}
