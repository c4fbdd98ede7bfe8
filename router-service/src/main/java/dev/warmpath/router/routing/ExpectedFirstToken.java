package dev.warmpath.router.routing;

import java.util.List;

/**
 * Sends a request where its first token is expected soonest.
 *
 * <p>Time is counted in uncached prompt tokens, the work that a first token waits for:
 * <pre>
 * cost = uncached tokens pending before it
 *      + uncached tokens of this request            its own wait,
 *          / (1 - share of busy workers)            and that of those who come after it
 *      - those of them that others use now          of a copy that many will use
 *          x (1 - copies / users) x (1 - fullness)  it pays its part
 *      + uncached tokens x reuse x fullness         what it pushes out here, and others will compute again
 *      + a step's fixed part per request without    each takes a step, whatever it finds cached
 *          a first token
 *      + what its running answers add to a step,    every step is shared with them,
 *          x 0.5 x prompt / usual step              this one's and those of what it brings later
 *      + 512 per request beyond its sequence slots  one of them has to finish first
 *      + block size per block that is not free      likewise
 *      + 2048 x the share of failures there lately  a failed try, and the way to another worker
 * </pre>
 * A prompt delays those behind it by what it computes, as long as a queue lasts: of utilisation u, 1 / (1 - u) times in
 * all (M/G/1). The share of workers that have prompts to compute stands for u, smoothed over two seconds, 0.98 at most.
 * So nothing keeps a request from an idle fleet's idle workers, and a fleet near its limit computes nothing twice.
 *
 * <p>What it computes takes blocks, and in a full pool those are others'. As likely as prompts find their tokens
 * cached, somebody will want them back: long sessions are better off where they are, for a copy elsewhere costs two
 * sessions their cache. Without this term they push each other out and never recover.
 *
 * <p>A prefix that many use at once is worth a copy, for it serves all who come after. A session's own past is used by
 * nobody else, and not copied for this.
 *
 * <p>A running answer adds its row and the reading of its context to each step, as the worker has measured it (in
 * tokens, like all here); a usual step is its fixed part and five such rows. A worker whose rows come to a usual step
 * more is half as fast at everything, and a request that lands there brings a prompt like this one again and again, for
 * its next turn goes where its blocks are: half of the prompt counts. So on a card, whose steps are mostly their fixed
 * part, a chat's stream comes to two or three tokens, and one that has read 30,000 to nine hundred; on processors,
 * which have next to none, to a tenth of the prompt. Without this term everybody stays behind one popular prefix, with
 * one worker.
 *
 * <p>A worker that is ejected or on trial is left out while anybody else is there; when all are, their cost decides.
 *
 * <p>Who holds one block less, and is otherwise within a block's tokens, is as good: a prompt's first block is often a
 * header that all prompts share, and following it would heap all of them on one worker. Among equals one that holds the
 * whole prompt wins, so that a short prompt's repeat finds its blocks; then the one that was chosen longest ago: turns
 * keep what comes to a worker evenly apart, which fewest requests do not.
 *
 * <p>Weights are {@link RoutingWeights}, here with their defaults. The terms have the names uncached, delay, copy,
 * eviction, pending, queued, streams, slots, memory and failures.
 * docs/policies.md and benchmarks/results/routing-quality.md have what it makes of loads, beside other policies.
 */
public final class ExpectedFirstToken implements RoutingPolicy {

    private static final List<String> TERMS = List.of("uncached", "copy", "delay", "eviction", "pending", "queued",
            "streams", "slots", "memory", "failures");
    private static final int UNCACHED = TERMS.indexOf("uncached");
    private static final int DELAY = TERMS.indexOf("delay");
    private static final int EVICTION = TERMS.indexOf("eviction");
    private static final int QUEUED = TERMS.indexOf("queued");
    private static final int STREAMS = TERMS.indexOf("streams");
    private static final int NOBODY = -1;
    private static final double LARGEST_BUSY_SHARE = 0.98;

    private final RoutingWeights weights;

    public ExpectedFirstToken() {
        this(RoutingWeights.DEFAULT);
    }

    public ExpectedFirstToken(RoutingWeights weights) {
        this.weights = weights;
    }

    @Override
    public PolicyName name() {
        return PolicyName.EXPECTED_FIRST_TOKEN;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> list) {
        Candidates candidates = Candidates.of(list);
        var costs = new ExpectedCosts(query, candidates, sparedShares(query, candidates));
        boolean anyoneIsHealthy = candidates.healthy() > 0;
        int cheapest = NOBODY;
        int openCount = 0;
        int mostMatched = 0;
        for (int i = 0; i < candidates.size(); i++) {
            if (candidates.isHealthy(i) || !anyoneIsHealthy) {     // as CandidateCost.open
                openCount++;
                mostMatched = Math.max(mostMatched, candidates.matchedBlocks(i));
                cheapest = cheapest == NOBODY || costs.cost(i) < costs.cost(cheapest) ? i : cheapest;
            }
        }
        if (cheapest == NOBODY) {
            throw new IllegalArgumentException("no candidates");
        }
        int best = NOBODY;
        int asGoodCount = 0;
        for (int i = 0; i < candidates.size(); i++) {
            if ((candidates.isHealthy(i) || !anyoneIsHealthy) && costs.isAsGood(i, cheapest)) {
                asGoodCount++;
                best = best == NOBODY || costs.goesBefore(i, best) ? i : best;
            }
        }
        boolean followed = mostMatched > 0 && candidates.matchedBlocks(best) == mostMatched;
        return new Choice(best, openCount == 1 ? RouteReason.ONLY_ONE : followed ? RouteReason.PREFIX
                : asGoodCount > 1 ? RouteReason.TURN : RouteReason.LOAD, costs);
    }

    /**
     * Of a copy of what others use now, by depth, the part that these others will pay: of u users at h workers that
     * hold a block, and this one, (u + 1) / (h + 1) share the next copy.
     */
    private static double[] sparedShares(RouteQuery query, Candidates candidates) {
        double[] shares = new double[query.uses().size()];
        for (int i = 0; i < shares.length; i++) {
            PrefixUse use = query.uses().get(i);
            int copies = 1;
            for (int j = 0; j < candidates.size(); j++) {
                copies += candidates.matchedBlocks(j) >= use.blocks() ? 1 : 0;
            }
            shares[i] = Math.max(0, 1 - copies / (use.requests() + 1.0));
        }
        return shares;
    }

    /** The costs of all candidates, and what it takes to compare two; the terms are reckoned again for who asks. */
    private final class ExpectedCosts extends Costs {

        private final RouteQuery query;
        private final Candidates candidates;
        private final double[] sparedShares;
        /** Depths of the shares, deepest first, and 0. */
        private final int[] usedBlocks;
        private final double delayShare;
        private final long[] costs;
        private final long[] rests;
        private final int promptBlocks;
        /** Of the candidate that is reckoned. */
        private final long[] terms = new long[TERMS.size()];

        ExpectedCosts(RouteQuery query, Candidates candidates, double[] sparedShares) {
            this.query = query;
            this.candidates = candidates;
            this.sparedShares = sparedShares;
            this.usedBlocks = new int[sparedShares.length + 1];
            for (int i = 0; i < sparedShares.length; i++) {
                usedBlocks[i] = query.uses().get(i).blocks();
            }
            double busy = Math.min(LARGEST_BUSY_SHARE, query.busyShare());
            this.delayShare = busy / (1 - busy);
            this.costs = new long[candidates.size()];
            this.rests = new long[costs.length];
            this.promptBlocks = query.promptBlocks();
            for (int i = 0; i < costs.length; i++) {
                reckon(i);
                for (long term : terms) {
                    costs[i] += term;
                }
                rests[i] = costs[i] - terms[UNCACHED] - terms[DELAY] - terms[EVICTION];
            }
        }

        @Override
        public int size() {
            return costs.length;
        }

        @Override
        public long cost(int number) {
            return costs[number];
        }

        @Override
        Candidates candidates() {
            return candidates;
        }

        @Override
        public CandidateCost get(int number) {
            return new CandidateCost(candidates.get(number), costs[number], terms(number));
        }

        private Terms terms(int number) {
            reckon(number);
            return new Terms(TERMS, terms.clone());
        }

        /** Leaves the terms in their array, in their order. */
        private void reckon(int number) {
            long uncached = uncachedTokens(number);
            double fullness = candidates.fullness(number);
            int pendingRequests = candidates.pendingRequests(number);
            double failureShare = candidates.failureShare(number);
            int term = 0;
            terms[term++] = uncached;
            terms[term++] = -sparedTokens(number, fullness);
            terms[term++] = Math.round(uncached * delayShare);
            terms[term++] = fullness == 0 ? 0 : Math.round(weights.eviction() * uncached * query.reuse() * fullness);
            terms[term++] = candidates.pendingTokens(number);
            terms[term++] = pendingRequests == 0 ? 0 : Math.round(weights.queuedRequest()
                    * Candidate.fixedTokens(candidates.stepCost(number)) * pendingRequests);
            terms[term++] = Math.round(weights.stream() * query.promptTokens() * candidates.rowsOverUsualStep(number));
            terms[term++] = (long) weights.missingSlot() * candidates.missingSlots(number);
            terms[term++] = query.blockSize() * candidates.missingBlocks(number, promptBlocks);
            terms[term] = failureShare == 0 ? 0 : Math.round(weights.failure() * failureShare);
        }

        private long uncachedTokens(int number) {
            return query.promptTokens() - (long) candidates.matchedBlocks(number) * query.blockSize();
        }

        /** In a full cache nothing of it is spared: the copy takes somebody's place there, and will not last. */
        private long sparedTokens(int number, double fullness) {
            int matched = candidates.matchedBlocks(number);
            double blocks = 0;
            for (int i = 0; i < sparedShares.length && usedBlocks[i] > matched; i++) {
                blocks += sparedShares[i] * (usedBlocks[i] - Math.max(usedBlocks[i + 1], matched));
            }
            return blocks == 0 ? 0 : Math.round(blocks * query.blockSize() * (1 - fullness));
        }

        /**
         * It holds one block less at most, and the rest differs by no more than a block's tokens. Or it is about to
         * compute this very prompt, and would have done so as soon as the other one: the second of two equal prompts
         * waits for the first instead of being computed beside it. What those add who have no first token either is the
         * price of that company, a step each now and a row each later, and not counted. Not so once its running answers
         * weigh.
         */
        boolean isAsGood(int one, int cheapest) {
            int fewerBlocks = candidates.matchedBlocks(cheapest) - candidates.matchedBlocks(one);
            boolean isNearlyAsGood = fewerBlocks <= 1 && rests[one] - rests[cheapest] <= query.blockSize();
            return isNearlyAsGood
                    || holdsAll(one) && withoutCompany(one) - costs[cheapest] <= query.blockSize();
        }

        private long withoutCompany(int one) {
            reckon(one);
            double pendingShare = (double) candidates.pendingRequests(one) / Math.max(1, candidates.requests(one));
            return costs[one] - terms[QUEUED] - Math.round(terms[STREAMS] * pendingShare);
        }

        boolean goesBefore(int one, int other) {
            boolean holdsAll = holdsAll(one);
            if (holdsAll != holdsAll(other)) {
                return holdsAll;
            }
            if (holdsAll && Math.abs(costs[one] - costs[other]) > query.blockSize()) {
                return costs[one] < costs[other];                  // company is worth a wait unless it is elsewhere too
            }
            return candidates.lastChosen(one) < candidates.lastChosen(other);
        }

        /** One token at least is always computed, hence up to a block. */
        private boolean holdsAll(int one) {
            return candidates.matchedBlocks(one) > 0 && uncachedTokens(one) <= query.blockSize();
        }
    }
}
