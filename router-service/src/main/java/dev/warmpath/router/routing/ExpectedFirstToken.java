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
 *      + uncached tokens x reuse x fullness         what it pushes out here, and others will compute again
 *      + 128 per request without a first token      each takes a step, whatever it finds cached
 *      + 2 per request running there                every step is shared with them
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
 * <p>A worker that is ejected or on trial is left out while anybody else is there; when all are, their cost decides.
 *
 * <p>Who holds one block less, and is otherwise within a block's tokens, is as good: a prompt's first block is often a
 * header that all prompts share, and following it would heap all of them on one worker. Among equals one that holds the whole prompt wins, then the
 * one with the fewest requests, then the one that was chosen longest ago; so unrelated prompts, one after the other,
 * take turns, and a short prompt's repeat finds its blocks.
 *
 * <p>docs/policies.md and benchmarks/results/routing-quality.md have what it makes of loads, beside other policies.
 */
public final class ExpectedFirstToken implements RoutingPolicy {

    private static final List<String> TERMS =
            List.of("uncached", "delay", "eviction", "pending", "queued", "requests", "slots", "memory", "failures");
    private static final double LARGEST_BUSY_SHARE = 0.98;
    /** One failure among successes sends a prompt of a few blocks elsewhere, and not one with a long prefix. */
    private static final double TOKENS_PER_FAILURE = 2048;

    @Override
    public PolicyName name() {
        return PolicyName.EXPECTED_FIRST_TOKEN;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        List<CandidateCost> costs = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            costs.add(cost(query, candidate));
        }
        List<CandidateCost> open = CandidateCost.open(costs);
        CandidateCost cheapest = cheapest(open);
        List<CandidateCost> asGood = open.stream().filter(each -> isAsGood(each, cheapest, query)).toList();
        CandidateCost best = best(asGood, query);
        return new Choice(costs.indexOf(best), reason(best, open, asGood), costs);
    }

    private static CandidateCost cost(RouteQuery query, Candidate candidate) {
        long uncached = candidate.uncachedTokens(query);
        double busy = busyShare(query);
        var terms = new Terms(TERMS, uncached, Math.round(uncached * busy / (1 - busy)),
                Math.round(uncached * query.reuse() * candidate.fullness()), candidate.pendingTokens(),
                candidate.queuedTokens(), candidate.requestTokens(), candidate.slotTokens(),
                candidate.memoryTokens(query), Math.round(TOKENS_PER_FAILURE * candidate.failureShare()));
        return new CandidateCost(candidate, terms.sum(), terms);
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
     * first instead of being computed beside it.
     */
    private static boolean isAsGood(CandidateCost one, CandidateCost cheapest, RouteQuery query) {
        int fewerBlocks = cheapest.candidate().matchedBlocks() - one.candidate().matchedBlocks();
        boolean isNearlyAsGood = fewerBlocks <= 1 && restOf(one) - restOf(cheapest) <= query.blockSize();
        long withoutCompany = one.cost() - one.terms().get("queued") - one.terms().get("requests");
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
        if (holdsAll(one, query) != holdsAll(other, query)) {
            return holdsAll(one, query);
        }
        Candidate first = one.candidate();
        Candidate second = other.candidate();
        return first.requests() != second.requests()
                ? first.requests() < second.requests()
                : first.lastChosen() < second.lastChosen();
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
        boolean tied = asGood.stream().anyMatch(each ->
                each != best && each.candidate().requests() == best.candidate().requests());
        return tied ? RouteReason.TURN : RouteReason.LOAD;
    }
}
