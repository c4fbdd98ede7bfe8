package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * The one with the fewest requests, running and waiting.
 *
 * <p>Source: {@code least-request} of AIBrix (vllm-project/aibrix, pkg/plugins/gateway/algorithms/least_request.go at
 * e3e10f9, 2026-08-23), by the gateway's own count, too, but of equal ones any; Envoy's {@code LEAST_REQUEST} with a
 * full scan, by its documents. No settings.
 */
public final class LeastRequests implements RoutingPolicy {

    private static final List<String> TERMS = List.of("requests");

    @Override
    public PolicyName name() {
        return PolicyName.LEAST_REQUESTS;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS, each.requests()));
        return ranking.byLoad(ranking.lowest());
    }
}
