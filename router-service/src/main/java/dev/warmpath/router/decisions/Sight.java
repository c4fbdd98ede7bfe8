package dev.warmpath.router.decisions;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.PrefixUse;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * All that a policy saw when it decided, in a line of the file, so that it, or another one, can be asked again: about
 * 1.5 KB with four candidates, 4 KB with sixteen. Of more candidates than are kept (see {@link RouteSnapshot}) those
 * that cost least under the policy that decided, and the chosen one.
 *
 * @param query      as in {@link RouteQuery}
 * @param uses       depths and numbers of requests, as in {@link PrefixUse}, one after the other
 * @param candidates a column for each part of {@link Candidate}, in its order
 */
@JsonNaming(SnakeCaseStrategy.class)
public record Sight(Query query, List<Integer> uses, Columns candidates) {

    /** A {@link RouteQuery} without its uses. */
    @JsonNaming(SnakeCaseStrategy.class)
    public record Query(int promptTokens, int blockSize, long beginning, long conversation, long draw, double busyShare,
            double reuse) {}

    /** As {@link Candidate}, one list for each part; those of records in it stand by themselves. */
    @JsonNaming(SnakeCaseStrategy.class)
    public record Columns(List<String> worker, List<Integer> matchedBlocks, List<Long> pendingTokens,
            List<Integer> pendingRequests, List<Integer> requests, List<Integer> maxSequences, List<Integer> usedBlocks,
            List<Integer> sharedBlocks, List<Integer> blockCount, List<Long> lastChosen, List<Long> behindBatches,
            List<Long> behindNanos, List<String> grade, List<String> health, List<Double> failureShare,
            List<Integer> promisedBlocks, List<Integer> cachedBlocks, List<Integer> mostCachedBlocks,
            List<Long> contextTokens, List<Double> stepMicros, List<Double> promptTokenMicros, List<Double> rowMicros,
            List<Double> contextTokenNanos) {}

    public static Sight of(RouteSnapshot snapshot) {
        RouteQuery query = snapshot.query();
        List<Integer> uses = new ArrayList<>();
        query.uses().forEach(use -> {
            uses.add(use.blocks());
            uses.add(use.requests());
        });
        return new Sight(new Query(query.promptTokens(), query.blockSize(), query.beginning(), query.conversation(),
                query.draw(), query.busyShare(), query.reuse()), uses, columns(snapshot));
    }

    private static Columns columns(RouteSnapshot snapshot) {
        List<Candidate> all = snapshot.candidates().stream().map(CandidateCost::candidate).toList();
        return new Columns(column(all, Candidate::workerId), column(all, Candidate::matchedBlocks),
                column(all, Candidate::pendingTokens), column(all, Candidate::pendingRequests),
                column(all, Candidate::requests), column(all, Candidate::maxSequences), column(all,
                Candidate::usedBlocks), column(all, Candidate::sharedBlocks), column(all, Candidate::blockCount),
                column(all, Candidate::lastChosen), column(all, each -> each.indexAge().batches()),
                column(all, each -> each.indexAge().nanos()), column(all, each -> each.grade().text()),
                column(all, each -> each.health().text()), column(all, Candidate::failureShare),
                column(all, Candidate::promisedBlocks), column(all, Candidate::cachedBlocks),
                column(all, Candidate::mostCachedBlocks), column(all, Candidate::contextTokens),
                column(all, each -> each.stepCost().stepMicros()), column(all, each -> each.stepCost()
                .promptTokenMicros()), column(all, each -> each.stepCost().rowMicros()), column(all, each ->
                each.stepCost().contextTokenNanos()));
    }

    private static <T> List<T> column(List<Candidate> all, Function<Candidate, T> part) {
        return all.stream().map(part).toList();
    }

    /** As the policy was given it. @throws IllegalArgumentException if the numbers make none */
    public RouteQuery toQuery() {
        if (uses.size() % 2 != 0) {
            throw new IllegalArgumentException("uses has depths and numbers by turns, not " + uses.size() + " of them");
        }
        List<PrefixUse> pairs = new ArrayList<>();
        for (int i = 0; i < uses.size(); i += 2) {
            pairs.add(new PrefixUse(uses.get(i), uses.get(i + 1)));
        }
        return new RouteQuery(query.promptTokens, query.blockSize, query.beginning, query.conversation, query.draw,
                query.busyShare, query.reuse, pairs);
    }

    /**
     * As the policy was given them. @throws IllegalArgumentException if columns are not of one length, or say nonsense
     */
    public List<Candidate> toCandidates() {
        Columns all = candidates;
        List<Candidate> made = new ArrayList<>();
        try {
            for (int i = 0; i < all.worker.size(); i++) {
                made.add(new Candidate(all.worker.get(i), all.matchedBlocks.get(i), all.pendingTokens.get(i),
                        all.pendingRequests.get(i), all.requests.get(i), all.maxSequences.get(i), all.usedBlocks.get(i),
                        all.sharedBlocks.get(i), all.blockCount.get(i), all.lastChosen.get(i),
                        new IndexAge(all.behindBatches.get(i), all.behindNanos.get(i)),
                        IndexGrade.valueOf(all.grade.get(i).toUpperCase(Locale.ROOT)),
                        HealthState.valueOf(all.health.get(i).toUpperCase(Locale.ROOT)), all.failureShare.get(i),
                        all.promisedBlocks.get(i), all.cachedBlocks.get(i), all.mostCachedBlocks.get(i),
                        all.contextTokens.get(i), new StepCost(all.stepMicros.get(i), all.promptTokenMicros.get(i),
                                all.rowMicros.get(i), all.contextTokenNanos.get(i))));
            }
        } catch (IndexOutOfBoundsException | NullPointerException e) {
            throw new IllegalArgumentException("the candidates' columns are not of one length", e);
        }
        return made;
    }
}
