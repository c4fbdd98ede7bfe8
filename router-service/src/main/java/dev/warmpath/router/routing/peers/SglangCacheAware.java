package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * As long as nobody has far more requests than another, the worker with the longest match, if that is a good part of
 * the prompt; otherwise the one with the fewest requests.
 * <pre>
 * uneven:  most - fewest requests &gt; 64  and  most &gt; 1.5 x fewest    fewest requests
 * even:    longest match &gt; 0.3 of the prompt's tokens               longest match
 *          else                                                     fewest requests
 * </pre>
 * The cost is what was compared: uncached tokens, or requests.
 *
 * <p>Source: {@code cache_aware} of SGLang's router (sgl-project/sglang, sgl-model-gateway/src/policies/cache_aware.rs
 * at b93974f, December 2025), and of SMG, which came of it, up to its gate per request (#2161, 2026-08-16). Defaults of
 * the command line 0.3 / 64 / 1.5, of the library 0.5 / 32 / 1.1 (smg-project/smg, which has that history, src/main.rs
 * and src/policies/mod.rs at 4bf973b, 2025-12-19). Its match is by a tree of what it sent where, in characters, here by
 * the index; of equal matches it takes the one that the tree names. It counts workers that are not healthy among the
 * most and the fewest, too. Up to sgl-project/sglang#14650 (2025-12-09) what matches little went to the smallest tree,
 * which heaped requests on new workers; since then to the fewest requests, as here.
 */
public final class SglangCacheAware implements RoutingPolicy {

    private static final List<String> BY_MATCH = List.of("uncached");
    private static final List<String> BY_LOAD = List.of("requests");

    private final double matchThreshold;
    private final int balanceAbsThreshold;
    private final double balanceRelThreshold;

    public SglangCacheAware() {
        this(0.3, 64, 1.5);
    }

    /**
     * @param matchThreshold      share of the prompt that has to match, beyond it
     * @param balanceAbsThreshold requests between the most and the fewest that still count as even
     * @param balanceRelThreshold the most over the fewest that still counts as even
     */
    SglangCacheAware(double matchThreshold, int balanceAbsThreshold, double balanceRelThreshold) {
        this.matchThreshold = matchThreshold;
        this.balanceAbsThreshold = balanceAbsThreshold;
        this.balanceRelThreshold = balanceRelThreshold;
    }

    @Override
    public PolicyName name() {
        return PolicyName.SGLANG_CACHE_AWARE;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        List<Candidate> open = CandidateCost.openCandidates(candidates);
        if (isUneven(open) || longestMatch(query, open) <= matchThreshold) {
            var ranking = Ranking.bySum(candidates, each -> new Terms(BY_LOAD, each.requests()));
            return ranking.byLoad(ranking.lowest());
        }
        var ranking = Ranking.bySum(candidates, each -> new Terms(BY_MATCH, each.uncachedTokens(query)));
        return ranking.because(RouteReason.PREFIX, ranking.lowest());
    }

    private boolean isUneven(List<Candidate> open) {
        int most = open.stream().mapToInt(Candidate::requests).max().orElse(0);
        int fewest = open.stream().mapToInt(Candidate::requests).min().orElse(0);
        return most - fewest > balanceAbsThreshold && most > balanceRelThreshold * fewest;
    }

    /** As a share of the prompt's tokens. */
    private static double longestMatch(RouteQuery query, List<Candidate> open) {
        int blocks = open.stream().mapToInt(Candidate::matchedBlocks).max().orElse(0);
        return (double) blocks * query.blockSize() / query.promptTokens();
    }
}
