package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.HealthState;
import dev.warmpath.router.routing.RouteDecision.Routed;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends a request where its first token is expected soonest. Pure: the same candidates give the same decision.
 *
 * <p>Time is counted in uncached prompt tokens, the work that a first token waits for:
 * <pre>
 * cost = uncached tokens pending before it
 *      + 2 x uncached tokens of this request        its own wait, and that of those who come after it
 *      + 2 per request running there                every step is shared with them
 *      + 512 per request beyond its sequence slots  one of them has to finish first
 *      + block size per block that is not free      likewise
 *      + 2048 x the share of failures there lately  a failed try, and the way to another worker
 * </pre>
 * Without the wait of others, the second of two equal prompts would be as well off at an idle worker, computing once
 * more what the first one's worker is about to hold.
 *
 * <p>A worker that is ejected or on trial is left out while anybody else is there; when all are, their cost decides, so
 * that the least bad ones serve: a fault of the whole fleet must not become a refusal of everything.
 *
 * <p>Costs that differ by one block at most are equal: a prompt's first block is often a header that all prompts share,
 * and following it would heap all of them on one worker. Among equals one that holds the whole prompt wins, then the
 * one with the fewest requests, then the one that was chosen longest ago; so unrelated prompts, one after the other,
 * take turns, and a short prompt's repeat finds its blocks.
 *
 * <p>The form is expected time to first token with social cost (reference/routing-policies.md 8, "ETT-X"), linear in
 * the request's own work: the product there needs a measured arrival rate.
 */
public final class RoutingPolicy {

    /** How often a token of this request counts in its cost: as its own wait and as that of others. */
    private static final int UNCACHED_WEIGHT = 2;
    /** A running request adds a row to every step that the prompt takes, and most prompts take one or two. */
    private static final long TOKENS_PER_REQUEST = 2;
    /** A short answer's worth of steps: how long a full worker takes to free a slot. */
    private static final long TOKENS_PER_MISSING_SLOT = 512;
    /** One failure among successes sends a prompt of a few blocks elsewhere, and not one with a long prefix. */
    private static final double TOKENS_PER_FAILURE = 2048;

    /**
     * @param promptTokens length of the prompt, at least 1
     * @param blockSize    tokens per block
     * @param candidates   at least one
     */
    public Routed choose(int promptTokens, int blockSize, List<Candidate> candidates) {
        List<CandidateTerms> terms = allTerms(promptTokens, blockSize, candidates);
        List<CandidateTerms> fit = terms.stream().filter(each -> each.candidate().health() == HealthState.HEALTHY)
                .toList();
        List<CandidateTerms> open = fit.isEmpty() ? terms : fit;
        int tieBand = UNCACHED_WEIGHT * blockSize;
        CandidateTerms best = best(open, tieBand, blockSize);
        return routed(best, blockSize, reason(best, open, tieBand), terms);
    }

    /** The decision to try out one of the candidates, whatever it costs. */
    public Routed tryOut(int promptTokens, int blockSize, List<Candidate> candidates, String workerId) {
        List<CandidateTerms> terms = allTerms(promptTokens, blockSize, candidates);
        CandidateTerms tried = terms.stream().filter(each -> each.candidate().workerId().equals(workerId)).findFirst()
                .orElseThrow();
        return routed(tried, blockSize, RouteReason.TRIAL, terms);
    }

    private static Routed routed(CandidateTerms chosen, int blockSize, RouteReason reason, List<CandidateTerms> all) {
        int matched = chosen.candidate().matchedBlocks();
        return new Routed(chosen.candidate().workerId(), matched, matched * blockSize, reason, List.copyOf(all));
    }

    private static List<CandidateTerms> allTerms(int promptTokens, int blockSize, List<Candidate> candidates) {
        List<CandidateTerms> terms = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            terms.add(terms(promptTokens, blockSize, candidate));
        }
        return terms;
    }

    private static CandidateTerms terms(int promptTokens, int blockSize, Candidate candidate) {
        long uncached = promptTokens - (long) candidate.matchedBlocks() * blockSize;
        long missingSlots = Math.max(0, candidate.requests() + 1 - candidate.maxSequences());
        long neededBlocks = Math.ceilDiv(promptTokens, blockSize) - candidate.sharedBlocks();
        long missingBlocks = Math.max(0, candidate.usedBlocks() + neededBlocks - candidate.blockCount());
        return CandidateTerms.of(candidate, uncached, TOKENS_PER_REQUEST * candidate.requests(),
                TOKENS_PER_MISSING_SLOT * missingSlots, blockSize * missingBlocks,
                Math.round(TOKENS_PER_FAILURE * candidate.failureShare()));
    }

    private static CandidateTerms best(List<CandidateTerms> terms, int tieBand, int blockSize) {
        long lowest = lowestCost(terms);
        CandidateTerms best = null;
        for (CandidateTerms each : terms) {
            if (each.cost() <= lowest + tieBand && (best == null || goesBefore(each, best, blockSize))) {
                best = each;
            }
        }
        if (best == null) {
            throw new IllegalArgumentException("no candidates");
        }
        return best;
    }

    private static boolean goesBefore(CandidateTerms one, CandidateTerms other, int blockSize) {
        if (holdsAll(one, blockSize) != holdsAll(other, blockSize)) {
            return holdsAll(one, blockSize);
        }
        Candidate first = one.candidate();
        Candidate second = other.candidate();
        return first.requests() != second.requests()
                ? first.requests() < second.requests()
                : first.lastChosen() < second.lastChosen();
    }

    /** One token at least is always computed, hence up to a block. */
    private static boolean holdsAll(CandidateTerms terms, int blockSize) {
        return terms.candidate().matchedBlocks() > 0 && terms.uncachedTokens() <= blockSize;
    }

    private static RouteReason reason(CandidateTerms best, List<CandidateTerms> terms, int tieBand) {
        if (terms.size() == 1) {
            return RouteReason.ONLY_ONE;
        }
        int mostMatched = 0;
        boolean tied = false;
        long lowest = lowestCost(terms);
        for (CandidateTerms each : terms) {
            mostMatched = Math.max(mostMatched, each.candidate().matchedBlocks());
            tied |= each != best && each.cost() <= lowest + tieBand
                    && each.candidate().requests() == best.candidate().requests();
        }
        if (mostMatched > 0 && best.candidate().matchedBlocks() == mostMatched) {
            return RouteReason.PREFIX;
        }
        return tied ? RouteReason.TURN : RouteReason.LOAD;
    }

    private static long lowestCost(List<CandidateTerms> terms) {
        long lowest = Long.MAX_VALUE;
        for (CandidateTerms each : terms) {
            lowest = Math.min(lowest, each.cost());
        }
        return lowest;
    }
}
