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
import java.util.SplittableRandom;

/**
 * Prompts that begin alike go to one worker, whoever holds what, unless that has more than its share of requests: 1.25
 * times the mean, this request counted in. Then the next in the beginning's own order of the workers is asked, so that
 * a hot beginning spreads over the same few.
 *
 * <p>The order is by rendezvous: each worker's distance to the beginning is drawn from both their keys. A ring of
 * virtual nodes would have to be kept in step with the fleet; this one needs nothing, and moves as little when a worker
 * comes or goes.
 *
 * <p>Source: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2018; KubeAI's prefix hash, load
 * factor 125 % (substratusai/kubeai, internal/loadbalancer/balance_chwbl.go at 2f32ef4, 2025-07-07: the bound, the
 * next, and the first where all are above the bound are as here); {@code prefix_hash} of SMG (smg-project/smg,
 * model_gateway/src/policies/prefix_hash.rs at 91b3e0c, 1.13.0), 256 tokens, 1.25, which leaves a worker only if it has
 * 10 requests more than the mean, too, and goes on to the least loaded worker in place of the next.
 */
public final class PrefixHash implements RoutingPolicy {

    private static final List<String> TERMS = List.of("distance", "over_bound");
    private static final double LOAD_FACTOR = 1.25;
    private static final int DISTANCE_BITS = 31;
    private static final long OVER_BOUND = 1L << DISTANCE_BITS;

    @Override
    public PolicyName name() {
        return PolicyName.PREFIX_HASH;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        double bound = bound(CandidateCost.openCandidates(candidates));
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS,
                distance(query.beginning(), each.workerId()), each.requests() > bound ? OVER_BOUND : 0));
        CandidateCost lowest = ranking.lowest();
        return ranking.because(isHome(lowest, ranking) ? RouteReason.AFFINITY : RouteReason.LOAD, lowest);
    }

    private static double bound(List<Candidate> open) {
        long requests = open.stream().mapToLong(Candidate::requests).sum();
        return LOAD_FACTOR * (requests + 1) / open.size();
    }

    /** 0 to 2^31 - 1, the same at every router. */
    static long distance(long beginning, String workerId) {
        long worker = new SplittableRandom(workerId.hashCode()).nextLong();
        return new SplittableRandom(beginning ^ worker).nextLong() >>> Long.SIZE - DISTANCE_BITS;
    }

    private static boolean isHome(CandidateCost one, Ranking ranking) {
        return ranking.open().stream().noneMatch(each -> each.terms().get("distance") < one.terms().get("distance"));
    }
}
