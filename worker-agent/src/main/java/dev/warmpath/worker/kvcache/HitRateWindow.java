package dev.warmpath.worker.kvcache;

/**
 * The share of prompt tokens found in the cache, over the most recent requests. Steps report what they admitted; the
 * oldest reports are dropped while the requests of all exceed the limit, but the newest always counts (vLLM's rule).
 */
final class HitRateWindow {

    private final int requestLimit;
    /** Rings of reports; each has at least one request, so that limit + 1 are never exceeded. */
    private final int[] requests;
    private final long[] queriedTokens;
    private final long[] hitTokens;
    private int oldest;
    private int reportCount;

    private long totalRequests;
    private long totalQueriedTokens;
    private long totalHitTokens;

    /** @param requestLimit how many requests the window spans, at least 1 */
    HitRateWindow(int requestLimit) {
        if (requestLimit < 1) {
            throw new IllegalArgumentException("a window of " + requestLimit + " requests shows nothing");
        }
        this.requestLimit = requestLimit;
        requests = new int[requestLimit + 1];
        queriedTokens = new long[requestLimit + 1];
        hitTokens = new long[requestLimit + 1];
    }

    /**
     * Adds what one step admitted; nothing happens if that was no request.
     *
     * @throws IllegalArgumentException if a count is negative, or more tokens were hit than queried
     */
    void observe(int requestCount, long queriedTokenCount, long hitTokenCount) {
        if (requestCount < 0 || hitTokenCount < 0 || hitTokenCount > queriedTokenCount) {
            throw new IllegalArgumentException(requestCount + " requests with " + hitTokenCount + " tokens hit of "
                    + queriedTokenCount + " cannot have been");
        }
        if (requestCount == 0) {
            return;
        }
        int newest = (oldest + reportCount) % requests.length;
        requests[newest] = requestCount;
        queriedTokens[newest] = queriedTokenCount;
        hitTokens[newest] = hitTokenCount;
        reportCount++;
        totalRequests += requestCount;
        totalQueriedTokens += queriedTokenCount;
        totalHitTokens += hitTokenCount;
        while (totalRequests > requestLimit && reportCount > 1) {
            dropOldest();
        }
    }

    /** Forgets everything, as after a reset of the cache. */
    void clear() {
        reportCount = 0;
        totalRequests = 0;
        totalQueriedTokens = 0;
        totalHitTokens = 0;
    }

    /** Hit tokens over queried ones, 0 to 1; 0 if there were none. */
    double hitRate() {
        return totalQueriedTokens == 0 ? 0 : (double) totalHitTokens / totalQueriedTokens;
    }

    long requests() {
        return totalRequests;
    }

    long queriedTokens() {
        return totalQueriedTokens;
    }

    long hitTokens() {
        return totalHitTokens;
    }

    private void dropOldest() {
        totalRequests -= requests[oldest];
        totalQueriedTokens -= queriedTokens[oldest];
        totalHitTokens -= hitTokens[oldest];
        oldest = (oldest + 1) % requests.length;
        reportCount--;
    }
}
