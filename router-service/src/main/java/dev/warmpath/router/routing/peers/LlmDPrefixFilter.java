package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * Only workers that hold four fifths of the prompt, if there are any and they are not far behind the others; among
 * those that are left the least work in tokens, of equal ones any:
 * <pre>
 * kept:    leading blocks that are held &gt;= 0.80 of the full blocks; all, if nobody holds so much
 * broken:  all are kept if the least pending of these exceeds the least of the others by more than 286,704 tokens
 * work   = pending tokens + uncached tokens of this request
 * </pre>
 *
 * <p>Source: llm-d/llm-d-router at ebab687 (2026-08-22), under {@code pkg/epp/framework/plugins/scheduling}:
 * {@code filter/prefixcacheaffinity/plugin.go} (threshold 0.80, penalty 18,000 ms at 15,928 prompt tokens a second,
 * exploration 0), {@code scorer/tokenload/token_load.go} and {@code picker/maxscore/picker.go}. So put together by
 * llm-d/llm-d, {@code guides/optimized-baseline/router/optimized-baseline.values.yaml} at 0a3b0c9, over an index that
 * guesses; with an exact one, as here, by its guide of precise prefixes since #2071 (July 2026), which was not read.
 * Their tokens in flight are uncached ones up to the first token, as the pending ones here; of a request that does not
 * stream, up to its end. That the score ends at 4,194,304 tokens in flight is left out.
 */
public final class LlmDPrefixFilter implements RoutingPolicy {

    private static final List<String> TERMS = List.of("pending", "uncached", "left_out");
    private static final double AFFINITY_THRESHOLD = 0.80;
    /** 18 s at 15,928 tokens a second. */
    private static final long LARGEST_PENALTY_TOKENS = 286_704;
    /** More than any worker's work. */
    private static final long LEFT_OUT = 1L << 48;

    @Override
    public PolicyName name() {
        return PolicyName.LLM_D_PREFIX_FILTER;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        boolean isSticky = isSticky(query, CandidateCost.openCandidates(candidates));
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS, each.pendingTokens(),
                each.uncachedTokens(query), isSticky && !holdsMost(query, each) ? LEFT_OUT : 0));
        return ranking.byPrefix(ranking.lowest(query.draw()));
    }

    private static boolean isSticky(RouteQuery query, List<Candidate> open) {
        long warm = leastPending(open.stream().filter(each -> holdsMost(query, each)).toList());
        long others = leastPending(open.stream().filter(each -> !holdsMost(query, each)).toList());
        boolean bothAreThere = warm != Long.MAX_VALUE && others != Long.MAX_VALUE;
        return bothAreThere && warm - others <= LARGEST_PENALTY_TOKENS;
    }

    private static long leastPending(List<Candidate> some) {
        return some.stream().mapToLong(Candidate::pendingTokens).min().orElse(Long.MAX_VALUE);
    }

    private static boolean holdsMost(RouteQuery query, Candidate candidate) {
        return LlmDPrefixScorer.matchedShare(query, candidate) >= AFFINITY_THRESHOLD;
    }
}
