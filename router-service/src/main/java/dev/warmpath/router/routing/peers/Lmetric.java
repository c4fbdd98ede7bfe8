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
 * The least product of prefill work and load: no weight has to be found between the two.
 * <pre>
 * cost = (pending tokens + uncached tokens of this request) x (requests + 1)
 * </pre>
 * Its terms are the two factors.
 *
 * <p>Source: the LMetric rule as SGLang, Dynamo ({@code lmetric} of its router, prefill after credit times decoding
 * blocks and 1) and llm-d ({@code lmetric-scorer}: uncached tokens of the request alone times requests and 1) have it.
 * No settings.
 */
public final class Lmetric implements RoutingPolicy {

    private static final List<String> TERMS = List.of("prefill", "load");

    @Override
    public PolicyName name() {
        return PolicyName.LMETRIC;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.of(candidates, each -> cost(each.pendingTokens() + each.uncachedTokens(query),
                each.requests() + 1L, each));
        return ranking.byPrefix(ranking.lowest());
    }

    private static CandidateCost cost(long prefill, long load, Candidate candidate) {
        return new CandidateCost(candidate, prefill * load, new Terms(TERMS, prefill, load));
    }
}
