package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.IndexGrade;
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
            List<CandidateTerms> candidates) implements RouteDecision {

        /** The terms of the chosen one. */
        public CandidateTerms chosen() {
            return candidates.stream().filter(each -> each.candidate().workerId().equals(workerId)).findFirst()
                    .orElseThrow();
        }

        /** The worst of the candidates': had the index known more of that one, it might have been chosen. */
        public IndexGrade indexGrade() {
            IndexGrade worst = IndexGrade.EXACT;
            for (CandidateTerms each : candidates) {
                IndexGrade grade = each.candidate().grade();
                worst = grade.compareTo(worst) > 0 ? grade : worst;
            }
            return worst;
        }
    }

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
