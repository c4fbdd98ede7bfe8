package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.IndexGrade;
import java.util.Arrays;
import java.util.List;

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
        return of(query, choice, List.copyOf(choice.costs()), leftOut);
    }

    /** At most {@value #MAX_KEPT} of them. */
    static RouteSnapshot bounded(RouteQuery query, Choice choice, LeftOut leftOut) {
        Costs all = choice.costs();
        return of(query, choice, all.size() <= MAX_KEPT ? List.copyOf(all) : cheapest(all, choice.chosen()), leftOut);
    }

    /** The grade and the most matched blocks are of all candidates, kept or not. */
    private static RouteSnapshot of(RouteQuery query, Choice choice, List<CandidateCost> kept, LeftOut leftOut) {
        Candidates all = choice.costs().candidates();
        IndexGrade worst = IndexGrade.EXACT;
        int most = 0;
        int mostHealthy = -1;
        for (int i = 0; i < all.size(); i++) {
            worst = all.grade(i).compareTo(worst) > 0 ? all.grade(i) : worst;
            most = Math.max(most, all.matchedBlocks(i));
            mostHealthy = all.isHealthy(i) ? Math.max(mostHealthy, all.matchedBlocks(i)) : mostHealthy;
        }
        // what an ejected one holds is given up for nothing but its faults, unless all are
        return new RouteSnapshot(query, all.size(), worst, mostHealthy < 0 ? most : mostHealthy, kept, leftOut);
    }

    /** In their order. */
    private static List<CandidateCost> cheapest(Costs all, int chosen) {
        int[] kept = new int[MAX_KEPT];
        long[] costs = new long[MAX_KEPT];
        int count = 0;
        long dearest = Long.MAX_VALUE;
        for (int i = 0; i < all.size(); i++) {
            long cost = all.cost(i);
            if (i != chosen && cost < dearest) {
                int place = Math.min(count, MAX_KEPT - 2);
                for (; place > 0 && cost < costs[place - 1]; place--) {
                    kept[place] = kept[place - 1];
                    costs[place] = costs[place - 1];
                }
                kept[place] = i;
                costs[place] = cost;
                count = Math.min(count + 1, MAX_KEPT - 1);
                dearest = count < MAX_KEPT - 1 ? Long.MAX_VALUE : costs[count - 1];
            }
        }
        kept[count] = chosen;
        return Arrays.stream(kept, 0, count + 1).sorted().mapToObj(all::get).toList();
    }
}
