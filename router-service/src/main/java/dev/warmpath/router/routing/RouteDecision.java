package dev.warmpath.router.routing;

import java.util.List;

/** Where a request goes, and why. */
public sealed interface RouteDecision {

    /** Every worker that could have been chosen with its terms; empty if there was none. */
    List<CandidateTerms> candidates();

    /**
     * @param workerId      the chosen one
     * @param matchedBlocks leading blocks that it will find in its cache
     * @param cachedTokens  the same in tokens: what its answer should report as cached
     */
    record Routed(String workerId, int matchedBlocks, int cachedTokens, RouteReason reason,
            List<CandidateTerms> candidates) implements RouteDecision {}

    record NoWorker(NoWorkerReason reason) implements RouteDecision {
        @Override
        public List<CandidateTerms> candidates() {
            return List.of();
        }
    }

    /** Why nobody could be chosen. */
    enum NoWorkerReason {
        /** No worker of the model's revision is ready. */
        NONE_READY,
        /** All that are ready were tried for this request already. */
        ALL_EXCLUDED
    }
}
