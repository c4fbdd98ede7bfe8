package dev.warmpath.router.routing;

/**
 * What one candidate would cost, term by term. Every term is a number of uncached prompt tokens: the time it takes to
 * compute that many.
 *
 * @param candidate      what the terms were computed from
 * @param uncachedTokens of this request
 * @param delayTokens    what this request adds to the wait of those after it: its uncached tokens once more
 * @param pendingTokens  of requests before it
 * @param requestTokens  for sharing every step with the requests that are running
 * @param slotTokens     for waiting until a sequence slot is free
 * @param memoryTokens   for waiting until enough blocks are free
 * @param failureTokens  for the requests that failed there lately
 * @param cost           sum of the terms
 */
public record CandidateTerms(
        Candidate candidate,
        long uncachedTokens,
        long delayTokens,
        long pendingTokens,
        long requestTokens,
        long slotTokens,
        long memoryTokens,
        long failureTokens,
        long cost) {

    static CandidateTerms of(
            Candidate candidate, long uncached, long request, long slot, long memory, long failure) {
        long pending = candidate.pendingTokens();
        return new CandidateTerms(candidate, uncached, uncached, pending, request, slot, memory, failure,
                uncached + uncached + pending + request + slot + memory + failure);
    }

    /** Uncached prompt tokens that the first token waits for: those before the request, and its own. */
    public long workTokens() {
        return uncachedTokens + pendingTokens + requestTokens + slotTokens + memoryTokens;
    }
}
