package dev.warmpath.router.routing;

import java.util.List;

/**
 * What a policy makes of the candidates. Lives no longer than these: what is to stay of it is taken out.
 *
 * @param chosen place of the chosen one among them
 * @param reason why that one
 * @param costs  of every candidate, in their order
 */
public record Choice(int chosen, RouteReason reason, Costs costs) {

    public Choice {
        if (chosen < 0 || chosen >= costs.size()) {
            throw new IllegalArgumentException("number " + chosen + " of " + costs.size() + " candidates");
        }
    }

    public Choice(int chosen, RouteReason reason, List<CandidateCost> costs) {
        this(chosen, reason, Costs.of(costs));
    }

    Candidate candidate() {
        return costs.candidates().get(chosen);
    }

    /** Another one in its place, whatever it costs, to find out whether it has recovered. */
    Choice tryOut(int other) {
        return new Choice(other, RouteReason.TRIAL, costs);
    }
}
