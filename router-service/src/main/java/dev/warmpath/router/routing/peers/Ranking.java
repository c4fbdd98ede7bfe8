package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The candidates of one decision with their costs, and a choice among those that may be chosen.
 *
 * @param all  in the order that the policy was given them
 * @param open those that may be chosen, at least one
 */
record Ranking(List<CandidateCost> all, List<CandidateCost> open) {

    Ranking {
        if (open.isEmpty()) {
            throw new IllegalArgumentException("no candidates");
        }
    }

    static Ranking of(List<Candidate> candidates, Function<Candidate, CandidateCost> cost) {
        List<CandidateCost> all = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            all.add(cost.apply(candidate));
        }
        return new Ranking(all, CandidateCost.open(all));
    }

    /** The cost is the sum of its terms. */
    static Ranking bySum(List<Candidate> candidates, Function<Candidate, Terms> terms) {
        return of(candidates, candidate -> {
            Terms made = terms.apply(candidate);
            return new CandidateCost(candidate, made.sum(), made);
        });
    }

    /** Of equal ones that with the fewest requests, then the one that was chosen longest ago. */
    CandidateCost lowest() {
        CandidateCost lowest = open.getFirst();
        for (CandidateCost each : open) {
            lowest = goesBefore(each, lowest) ? each : lowest;
        }
        return lowest;
    }

    static boolean goesBefore(CandidateCost one, CandidateCost other) {
        Candidate first = one.candidate();
        Candidate second = other.candidate();
        return one.cost() != other.cost() ? one.cost() < other.cost()
                : first.requests() != second.requests() ? first.requests() < second.requests()
                : first.lastChosen() < second.lastChosen();
    }

    /** Of equal ones any. @param draw which, by chance */
    CandidateCost lowest(long draw) {
        long cost = lowest().cost();
        List<CandidateCost> equal = open.stream().filter(each -> each.cost() == cost).toList();
        return equal.get((int) Long.remainderUnsigned(draw, equal.size()));
    }

    /** What a policy says that looks at nothing but load. */
    Choice byLoad(CandidateCost one) {
        boolean tied = open.stream().anyMatch(each -> each != one && each.cost() == one.cost());
        return because(tied ? RouteReason.TURN : RouteReason.LOAD, one);
    }

    /** What a policy says that looks at what workers hold, too. */
    Choice byPrefix(CandidateCost one) {
        int most = open.stream().mapToInt(each -> each.candidate().matchedBlocks()).max().orElse(0);
        boolean followed = most > 0 && one.candidate().matchedBlocks() == most;
        return followed ? because(RouteReason.PREFIX, one) : byLoad(one);
    }

    Choice because(RouteReason reason, CandidateCost one) {
        return new Choice(all.indexOf(one), open.size() == 1 ? RouteReason.ONLY_ONE : reason, all);
    }
}
