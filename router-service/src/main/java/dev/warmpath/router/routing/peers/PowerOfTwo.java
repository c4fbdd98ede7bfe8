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
 * Two by chance, and of these the one with fewer requests: nearly as even as asking all, and routers that know the same
 * do not all run to one worker.
 *
 * <p>Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001; {@code power_of_two} of SMG
 * (smg-project/smg, model_gateway/src/policies/power_of_two.rs at 91b3e0c, 1.13.0), which compares requests by setting
 * and the expected wait by default. No settings.
 */
public final class PowerOfTwo implements RoutingPolicy {

    private static final List<String> TERMS = List.of("requests");
    private static final int HALF_BITS = 32;

    @Override
    public PolicyName name() {
        return PolicyName.POWER_OF_TWO;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS, each.requests()));
        List<CandidateCost> open = ranking.open();
        if (open.size() == 1) {
            return ranking.byLoad(open.getFirst());
        }
        int first = Integer.remainderUnsigned((int) query.draw(), open.size());
        int other = Integer.remainderUnsigned((int) (query.draw() >>> HALF_BITS), open.size() - 1);
        int second = other < first ? other : other + 1;            // the first one is not drawn again
        CandidateCost one = open.get(first);
        CandidateCost two = open.get(second);
        return ranking.because(one.cost() == two.cost() ? RouteReason.TURN : RouteReason.LOAD,
                Ranking.goesBefore(two, one) ? two : one);
    }
}
