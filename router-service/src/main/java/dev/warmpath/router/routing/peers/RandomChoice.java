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
 * Any of them, each as likely as the others. Nothing is known of anybody, so the costs are 0.
 *
 * <p>Source: {@code random} of SMG (smg-project/smg, model_gateway/src/policies/random.rs at 91b3e0c, 1.13.0) and of
 * Dynamo's router modes. No settings.
 */
public final class RandomChoice implements RoutingPolicy {

    private static final Terms NOTHING = new Terms(List.of());

    @Override
    public PolicyName name() {
        return PolicyName.RANDOM;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.bySum(candidates, _ -> NOTHING);
        return ranking.because(RouteReason.TURN, ranking.lowest(query.draw()));
    }
}
