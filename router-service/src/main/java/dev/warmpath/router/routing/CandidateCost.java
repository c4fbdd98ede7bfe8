package dev.warmpath.router.routing;

import dev.warmpath.router.health.HealthState;
import java.util.List;
import java.util.function.Function;

/**
 * What one candidate would cost.
 *
 * @param candidate what the cost was computed from
 * @param cost      in the policy's unit; the smaller, the better
 * @param terms     what it is made of: their sum, where the policy does not say otherwise
 */
public record CandidateCost(Candidate candidate, long cost, Terms terms) {

    /**
     * Those that may be chosen: the healthy ones. All of them where none is, so that the least bad ones serve: a fault
     * of the whole fleet must not become a refusal of everything.
     */
    public static List<CandidateCost> open(List<CandidateCost> all) {
        return open(all, CandidateCost::candidate);
    }

    /** The same, before there is a cost. */
    public static List<Candidate> openCandidates(List<Candidate> all) {
        return open(all, Function.identity());
    }

    private static <T> List<T> open(List<T> all, Function<T, Candidate> candidate) {
        List<T> healthy = all.stream()
                .filter(each -> candidate.apply(each).health() == HealthState.HEALTHY).toList();
        return healthy.isEmpty() ? all : healthy;
    }
}
