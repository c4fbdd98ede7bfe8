package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.IndexGrade;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * What was known when a request was placed, to be shown and logged later. Of a large fleet it keeps the candidates that
 * cost least and the chosen one: it lives as long as its request, and there are thousands of these.
 *
 * @param query          what was placed
 * @param candidateCount how many could have been chosen
 * @param indexGrade     the worst of theirs: had the index known more of that one, it might have been chosen
 * @param mostMatchedBlocks of all that could have been chosen, what the best one holds of the prompt
 * @param candidates     those that are kept, in the order that the policy saw them
 * @param leftOut        who else serves the model, and could not have been chosen
 */
public record RouteSnapshot(
        RouteQuery query, int candidateCount, IndexGrade indexGrade, int mostMatchedBlocks,
        List<CandidateCost> candidates, LeftOut leftOut) {

    /** Enough to see what a choice was between; some 200 bytes each. */
    static final int MAX_KEPT = 16;

    /** All of them, for whoever asks for an explanation. */
    static RouteSnapshot whole(RouteQuery query, Choice choice, LeftOut leftOut) {
        return of(query, choice, choice.costs(), leftOut);
    }

    /** At most {@value #MAX_KEPT} of them. */
    static RouteSnapshot bounded(RouteQuery query, Choice choice, LeftOut leftOut) {
        List<CandidateCost> all = choice.costs();
        return of(query, choice, all.size() <= MAX_KEPT ? all : cheapest(all, choice.chosen()), leftOut);
    }

    private static RouteSnapshot of(RouteQuery query, Choice choice, List<CandidateCost> kept, LeftOut leftOut) {
        List<CandidateCost> all = choice.costs();
        return new RouteSnapshot(query, all.size(), worstGrade(all), mostMatchedBlocks(all), kept, leftOut);
    }

    private static List<CandidateCost> cheapest(List<CandidateCost> all, int chosen) {
        Comparator<Integer> dearestFirst = Comparator.<Integer>comparingLong(i -> all.get(i).cost()).reversed();
        var kept = new PriorityQueue<>(MAX_KEPT, dearestFirst);
        for (int i = 0; i < all.size(); i++) {
            if (i == chosen) {
                continue;
            }
            if (kept.size() < MAX_KEPT - 1) {
                kept.add(i);
            } else if (all.get(i).cost() < all.get(kept.element()).cost()) {
                kept.remove();
                kept.add(i);
            }
        }
        List<Integer> places = new ArrayList<>(kept);
        places.add(chosen);
        return places.stream().sorted().map(all::get).toList();
    }

    private static IndexGrade worstGrade(List<CandidateCost> candidates) {
        IndexGrade worst = IndexGrade.EXACT;
        for (CandidateCost each : candidates) {
            IndexGrade grade = each.candidate().grade();
            worst = grade.compareTo(worst) > 0 ? grade : worst;
        }
        return worst;
    }

    /** Of those that could be chosen: what an ejected one holds is given up for nothing but its faults. */
    private static int mostMatchedBlocks(List<CandidateCost> candidates) {
        int most = 0;
        for (CandidateCost each : CandidateCost.open(candidates)) {
            most = Math.max(most, each.candidate().matchedBlocks());
        }
        return most;
    }
}
