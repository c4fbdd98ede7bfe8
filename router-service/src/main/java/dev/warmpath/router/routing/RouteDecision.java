package dev.warmpath.router.routing;

import org.jspecify.annotations.Nullable;

/** Where a request goes, and why. */
public sealed interface RouteDecision {

    /**
     * @param policy   that decided
     * @param chosen   the worker, and what it costs
     * @param predictedFirstTokenNanos how long the first token should take there: what it waits for, at the worker's
     *                 pace of late; negative while that is not known
     * @param snapshot what the choice was made from
     * @param shadow   what another policy would have done; null if none was asked
     */
    record Routed(PolicyName policy, CandidateCost chosen, RouteReason reason, long predictedFirstTokenNanos,
            RouteSnapshot snapshot, @Nullable ShadowChoice shadow) implements RouteDecision {

        public String workerId() {
            return chosen.candidate().workerId();
        }

        /** Leading blocks that it will find in its cache. */
        public int matchedBlocks() {
            return chosen.candidate().matchedBlocks();
        }

        /** The same in tokens: what its answer should report as cached. */
        public int cachedTokens() {
            return matchedBlocks() * snapshot.query().blockSize();
        }

        /** What the worker that holds most of the prompt would find, be it this one or not. */
        public int fleetCachedTokens() {
            return snapshot.mostMatchedBlocks() * snapshot.query().blockSize();
        }

        /** What the first token waits for, see {@link Candidate#workTokens}. */
        public long workTokens() {
            return chosen.candidate().workTokens(snapshot.query());
        }
    }

    record NoWorker(NoWorkerReason reason, LeftOut leftOut) implements RouteDecision {}

    /** Why nobody could be chosen. */
    enum NoWorkerReason {
        /** No worker of the model's revision is ready. */
        NONE_READY,
        /** All that are ready were tried for this request already. */
        ALL_EXCLUDED
    }
}
