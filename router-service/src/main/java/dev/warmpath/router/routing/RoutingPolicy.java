package dev.warmpath.router.routing;

import dev.warmpath.router.routing.RouteDecision.Routed;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends a request where its first token is expected soonest. Pure: the same candidates give the same decision.
 *
 * <p>Time is counted in uncached prompt tokens, the work that a first token waits for:
 * <pre>
 * cost = uncached tokens of this request + uncached tokens pending before it
 *      + 2 per request running there               every step is shared with them
 *      + 512 per request beyond its sequence slots  one of them has to finish first
 *      + block size per block that is not free      likewise
 * </pre>
 * Costs that differ by one block at most are equal: a prompt's first block is often a header that all prompts share,
 * and following it would heap all of them on one worker. Among equals the one with the fewest requests wins, then the
 * one that was chosen longest ago; so unrelated prompts, one after the other, take turns.
 *
 * <p>The form is plain expected time to first token (reference/routing-policies.md 8, "ETT"); its rate terms need a
 * measured arrival rate.
 */
public final class RoutingPolicy {

    /** A running request adds a row to every step that the prompt takes, and most prompts take one or two. */
    private static final long TOKENS_PER_REQUEST = 2;
    /** A short answer's worth of steps: how long a full worker takes to free a slot. */
    private static final long TOKENS_PER_MISSING_SLOT = 512;

    /**
     * @param promptTokens length of the prompt, at least 1
     * @param blockSize    tokens per block
     * @param candidates   at least one
     */
    public Routed choose(int promptTokens, int blockSize, List<Candidate> candidates) {
        List<CandidateTerms> terms = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            terms.add(terms(promptTokens, blockSize, candidate));
        }
        CandidateTerms best = best(terms, blockSize);
        int matched = best.candidate().matchedBlocks();
        return new Routed(best.candidate().workerId(), matched, matched * blockSize,
                reason(best, terms, blockSize), List.copyOf(terms));
    }

    private static CandidateTerms terms(int promptTokens, int blockSize, Candidate candidate) {
        long uncached = promptTokens - (long) candidate.matchedBlocks() * blockSize;
        long missingSlots = Math.max(0, candidate.requests() + 1 - candidate.maxSequences());
        long neededBlocks = Math.ceilDiv(promptTokens, blockSize) - candidate.sharedBlocks();
        long missingBlocks = Math.max(0, candidate.usedBlocks() + neededBlocks - candidate.blockCount());
        return CandidateTerms.of(candidate, uncached, TOKENS_PER_REQUEST * candidate.requests(),
                TOKENS_PER_MISSING_SLOT * missingSlots, blockSize * missingBlocks);
    }

    private static CandidateTerms best(List<CandidateTerms> terms, int tieBand) {
        long lowest = lowestCost(terms);
        CandidateTerms best = null;
        for (CandidateTerms each : terms) {
            if (each.cost() <= lowest + tieBand && (best == null || goesBefore(each.candidate(), best.candidate()))) {
                best = each;
            }
        }
        if (best == null) {
            throw new IllegalArgumentException("no candidates");
        }
        return best;
    }

    private static boolean goesBefore(Candidate one, Candidate other) {
        return one.requests() != other.requests()
                ? one.requests() < other.requests()
                : one.lastChosen() < other.lastChosen();
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
