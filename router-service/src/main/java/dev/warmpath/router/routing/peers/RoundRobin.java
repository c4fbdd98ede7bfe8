package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * Everybody in turn: the one that was chosen longest ago, by whichever policy. The books of this router are the list,
 * so a fleet that changes needs no new one, and nobody's turn is lost to a worker that could not be chosen.
 *
 * <p>Source: Envoy's {@code ROUND_ROBIN} and what Kubernetes' services come to; SMG, Dynamo and production-stack
 * (vllm-project/production-stack, src/vllm_router/routers/routing_logic.py at a6c01db, 2026-08-05) have it by the same
 * name. Theirs is a counter over a list. No settings.
 */
public final class RoundRobin implements RoutingPolicy {

    private static final List<String> TERMS = List.of("last_chosen");

    @Override
    public PolicyName name() {
        return PolicyName.ROUND_ROBIN;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS, each.lastChosen()));
        return ranking.because(RouteReason.TURN, ranking.lowest());
    }
}
