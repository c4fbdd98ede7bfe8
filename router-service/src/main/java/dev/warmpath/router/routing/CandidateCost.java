package dev.warmpath.router.routing;

import dev.warmpath.router.health.HealthState;
import java.util.List;

/**
 * What one candidate would cost.
 *
 * @param candidate what the cost was computed from
 * @param cost      in the policy's unit; the smaller, the better
 * @param terms     what it is made of
 */
public record CandidateCost(Candidate candidate, long cost, Terms terms) {

    /**
     * Those that may be chosen: the healthy ones. All of them where none is, so that the least bad ones serve: a fault
     * of the whole fleet must not become a refusal of everything.
     */
    static List<CandidateCost> open(List<CandidateCost> all) {
        List<CandidateCost> healthy = all.stream()
                .filter(each -> each.candidate().health() == HealthState.HEALTHY).toList();
        return healthy.isEmpty() ? all : healthy;
    }
}
