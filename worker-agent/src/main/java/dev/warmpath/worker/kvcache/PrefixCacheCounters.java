package dev.warmpath.worker.kvcache;

/** What admissions found, added up since the start and over the last thousand requests. */
final class PrefixCacheCounters {

    private static final int RECENT_REQUESTS = 1000;

    private final boolean caching;
    private final int blockSize;
    private final HitRateWindow recent = new HitRateWindow(RECENT_REQUESTS);
    private long requests;
    private long queriedTokens;
    private long hitTokens;
    private long queriedBlocks;
    private long hitBlocks;
    private long preemptedRequests;
    private long preemptedQueriedTokens;
    private long preemptedHitTokens;
    private long resets;

    PrefixCacheCounters(KvCacheSettings settings) {
        caching = settings.prefixCaching();
        blockSize = settings.blockSize();
    }

    /** Counts an admission, apart from the others if the sequence was admitted before. */
    void countAdmission(TokenSequence sequence, int hit) {
        boolean first = sequence.holding().countAdmission(hit);
        if (!caching || sequence.skipsCacheRead()) {
            return;
        }
        if (first) {
            countFirst(sequence.tokenCount(), hit);
        } else {
            countResumed(sequence.tokenCount(), hit);
        }
    }

    void countReset() {
        resets++;
        recent.clear();
    }

    double recentHitRate() {
        return recent.hitRate();
    }

    PrefixCacheStats stats(BlockPool pool) {
        return new PrefixCacheStats(requests, queriedTokens, hitTokens, queriedBlocks, hitBlocks,
                preemptedRequests, preemptedQueriedTokens, preemptedHitTokens,
                pool.collisions(), pool.evictions(), resets);
    }

    private void countFirst(int queried, int hit) {
        requests++;
        queriedTokens += queried;
        hitTokens += hit;
        queriedBlocks += queried / blockSize;
        hitBlocks += hit / blockSize;
        recent.observe(1, queried, hit);
    }

    private void countResumed(int queried, int hit) {
        preemptedRequests++;
        preemptedQueriedTokens += queried;
        preemptedHitTokens += hit;
    }
}
