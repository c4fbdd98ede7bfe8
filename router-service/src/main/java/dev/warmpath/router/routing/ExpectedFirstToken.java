package dev.warmpath.router.routing;

import java.util.ArrayList;
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
 * part, a chat's stream comes to two or three tokens, and one that has read 30,000 to nine hundred; on processors, which
 * have next to none, to a tenth of the prompt. Without this term everybody stays behind one popular prefix, with one
 * worker.
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
    private static final double LARGEST_BUSY_SHARE = 0.98;
    /** In a usual step; 2 to 20 serve about as well where a step has no fixed part, and elsewhere they hardly count. */
    private static final int FEW_STREAMS = 5;

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
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        double[] sparedShares = sparedShares(query, candidates);
        List<CandidateCost> costs = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            costs.add(cost(query, candidate, sparedShares));
        }
        List<CandidateCost> open = CandidateCost.open(costs);
        CandidateCost cheapest = cheapest(open);
        List<CandidateCost> asGood = open.stream().filter(each -> isAsGood(each, cheapest, query)).toList();
        CandidateCost best = best(asGood, query);
        return new Choice(costs.indexOf(best), reason(best, open, asGood), costs);
    }

    private CandidateCost cost(RouteQuery query, Candidate candidate, double[] sparedShares) {
        long uncached = candidate.uncachedTokens(query);
        double busy = busyShare(query);
        var terms = new Terms(TERMS, uncached, -sparedTokens(query, candidate, sparedShares),
                Math.round(uncached * busy / (1 - busy)),
                Math.round(weights.eviction() * uncached * query.reuse() * candidate.fullness()),
                candidate.pendingTokens(), queuedTokens(candidate), streamTokens(query, candidate),
                (long) weights.missingSlot() * candidate.missingSlots(), candidate.memoryTokens(query),
                Math.round(weights.failure() * candidate.failureShare()));
        return new CandidateCost(candidate, terms.sum(), terms);
    }

    private long queuedTokens(Candidate candidate) {
        return Math.round(weights.queuedRequest() * candidate.fixedTokens() * candidate.pendingRequests());
    }

    private long streamTokens(RouteQuery query, Candidate candidate) {
        return Math.round(weights.stream() * query.promptTokens() * candidate.rowsOverUsualStep(FEW_STREAMS));
    }

    /**
     * Of a copy of what others use now, by depth, the part that these others will pay: of u users at h workers that hold
     * a block, and this one, (u + 1) / (h + 1) share the next copy.
     */
    private static double[] sparedShares(RouteQuery query, List<Candidate> candidates) {
        double[] shares = new double[query.uses().size()];
        for (int i = 0; i < shares.length; i++) {
            PrefixUse use = query.uses().get(i);
            int copies = 1;
            for (Candidate each : candidates) {
                copies += each.matchedBlocks() >= use.blocks() ? 1 : 0;
            }
            shares[i] = Math.max(0, 1 - copies / (use.requests() + 1.0));
        }
        return shares;
    }

    /** In a full cache nothing of it is spared: the copy takes somebody's place there, and will not last. */
    private static long sparedTokens(RouteQuery query, Candidate candidate, double[] shares) {
        double blocks = 0;
        for (int i = 0; i < shares.length; i++) {
            int shallower = i + 1 < shares.length ? query.uses().get(i + 1).blocks() : 0;
            int copied = query.uses().get(i).blocks() - Math.max(shallower, candidate.matchedBlocks());
            blocks += shares[i] * Math.max(0, copied);
        }
        return Math.round(blocks * query.blockSize() * (1 - candidate.fullness()));
    }

    private static double busyShare(RouteQuery query) {
        return Math.min(LARGEST_BUSY_SHARE, query.busyShare());
    }

    private static CandidateCost cheapest(List<CandidateCost> costs) {
        CandidateCost cheapest = null;
        for (CandidateCost each : costs) {
            if (cheapest == null || each.cost() < cheapest.cost()) {
                cheapest = each;
            }
        }
        if (cheapest == null) {
            throw new IllegalArgumentException("no candidates");
        }
        return cheapest;
    }

    /**
     * It holds one block less at most, and the rest differs by no more than a block's tokens. Or it is about to compute
     * this very prompt, and would have done so as soon as the other one: the second of two equal prompts waits for the
     * first instead of being computed beside it. What those add who have no first token either is the price of that
     * company, a step each now and a row each later, and not counted. Not so once its running answers weigh.
     */
    private static boolean isAsGood(CandidateCost one, CandidateCost cheapest, RouteQuery query) {
        int fewerBlocks = cheapest.candidate().matchedBlocks() - one.candidate().matchedBlocks();
        boolean isNearlyAsGood = fewerBlocks <= 1 && restOf(one) - restOf(cheapest) <= query.blockSize();
        Candidate candidate = one.candidate();
        double pendingShare = (double) candidate.pendingRequests() / Math.max(1, candidate.requests());
        long company = one.terms().get("queued") + Math.round(one.terms().get("streams") * pendingShare);
        long withoutCompany = one.cost() - company;
        return isNearlyAsGood || holdsAll(one, query) && withoutCompany - cheapest.cost() <= query.blockSize();
    }

    private static long restOf(CandidateCost one) {
        Terms terms = one.terms();
        return one.cost() - terms.get("uncached") - terms.get("delay") - terms.get("eviction");
    }

    private static CandidateCost best(List<CandidateCost> asGood, RouteQuery query) {
        CandidateCost best = asGood.getFirst();
        for (CandidateCost each : asGood) {
            best = goesBefore(each, best, query) ? each : best;
        }
        return best;
    }

    private static boolean goesBefore(CandidateCost one, CandidateCost other, RouteQuery query) {
        boolean holdsAll = holdsAll(one, query);
        if (holdsAll != holdsAll(other, query)) {
            return holdsAll;
        }
        if (holdsAll && Math.abs(one.cost() - other.cost()) > query.blockSize()) {
            return one.cost() < other.cost();                      // company is worth a wait only where it is not elsewhere
        }
        return one.candidate().lastChosen() < other.candidate().lastChosen();
    }

    /** One token at least is always computed, hence up to a block. */
    private static boolean holdsAll(CandidateCost one, RouteQuery query) {
        return one.candidate().matchedBlocks() > 0 && one.candidate().uncachedTokens(query) <= query.blockSize();
    }

    private static RouteReason reason(CandidateCost best, List<CandidateCost> open, List<CandidateCost> asGood) {
        if (open.size() == 1) {
            return RouteReason.ONLY_ONE;
        }
        int mostMatched = open.stream().mapToInt(each -> each.candidate().matchedBlocks()).max().orElseThrow();
        if (mostMatched > 0 && best.candidate().matchedBlocks() == mostMatched) {
            return RouteReason.PREFIX;
        }
        return asGood.size() > 1 ? RouteReason.TURN : RouteReason.LOAD;
    }
}
