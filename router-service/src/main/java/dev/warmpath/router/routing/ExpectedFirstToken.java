package dev.warmpath.router.routing;

import java.util.ArrayList;
import java.util.List;

/**
 * Sends a request where its first token is expected soonest.
 *
 * <p>Time is counted in uncached prompt tokens, the work that a first token waits for:
 * <pre>
 * cost = uncached tokens pending before it
 *      + 2 x uncached tokens of this request        its own wait, and that of those who come after it
 *      + 128 per request without a first token      each takes a step, whatever it finds cached
 *      + 2 per request running there                every step is shared with them
 *      + 512 per request beyond its sequence slots  one of them has to finish first
 *      + block size per block that is not free      likewise
 *      + 2048 x the share of failures there lately  a failed try, and the way to another worker
 * </pre>
 * Without the wait of others, the second of two equal prompts would be as well off at an idle worker, computing once
 * more what the first one's worker is about to hold.
 *
 * <p>A worker that is ejected or on trial is left out while anybody else is there; when all are, their cost decides.
 *
 * <p>Costs that differ by one block at most are equal: a prompt's first block is often a header that all prompts share,
 * and following it would heap all of them on one worker. Among equals one that holds the whole prompt wins, then the
 * one with the fewest requests, then the one that was chosen longest ago; so unrelated prompts, one after the other,
 * take turns, and a short prompt's repeat finds its blocks.
 *
 * <p>The form is expected time to first token with social cost (reference/routing-policies.md 8, "ETT-X"), linear in
 * the request's own work: the product there needs a measured arrival rate.
 */
public final class ExpectedFirstToken implements RoutingPolicy {

    private static final List<String> TERMS =
            List.of("uncached", "delay", "pending", "queued", "requests", "slots", "memory", "failures");
    /** How often a token of this request counts in its cost: as its own wait and as that of others. */
    private static final int UNCACHED_WEIGHT = 2;
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
        int tieBand = UNCACHED_WEIGHT * query.blockSize();
        CandidateCost best = best(open, tieBand, query);
        return new Choice(costs.indexOf(best), reason(best, open, tieBand), costs);
    }

    private static CandidateCost cost(RouteQuery query, Candidate candidate) {
        long uncached = candidate.uncachedTokens(query);
        var terms = new Terms(TERMS, uncached, (UNCACHED_WEIGHT - 1) * uncached, candidate.pendingTokens(),
                candidate.queuedTokens(), candidate.requestTokens(), candidate.slotTokens(),
                candidate.memoryTokens(query), Math.round(TOKENS_PER_FAILURE * candidate.failureShare()));
        return new CandidateCost(candidate, terms.sum(), terms);
    }

    private static CandidateCost best(List<CandidateCost> terms, int tieBand, RouteQuery query) {
        long lowest = lowestCost(terms);
        CandidateCost best = null;
        for (CandidateCost each : terms) {
            if (each.cost() <= lowest + tieBand && (best == null || goesBefore(each, best, query))) {
                best = each;
            }
        }
        if (best == null) {
            throw new IllegalArgumentException("no candidates");
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

    private static RouteReason reason(CandidateCost best, List<CandidateCost> terms, int tieBand) {
        if (terms.size() == 1) {
            return RouteReason.ONLY_ONE;
        }
        int mostMatched = 0;
        boolean tied = false;
        long lowest = lowestCost(terms);
        for (CandidateCost each : terms) {
            mostMatched = Math.max(mostMatched, each.candidate().matchedBlocks());
            tied |= each != best && each.cost() <= lowest + tieBand
                    && each.candidate().requests() == best.candidate().requests();
        }
        if (mostMatched > 0 && best.candidate().matchedBlocks() == mostMatched) {
            return RouteReason.PREFIX;
        }
        return tied ? RouteReason.TURN : RouteReason.LOAD;
    }

    private static long lowestCost(List<CandidateCost> terms) {
        long lowest = Long.MAX_VALUE;
        for (CandidateCost each : terms) {
            lowest = Math.min(lowest, each.cost());
        }
        return lowest;
    }
}
