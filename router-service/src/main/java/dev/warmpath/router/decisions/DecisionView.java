package dev.warmpath.router.decisions;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.router.decisions.Decision.Outcome;
import dev.warmpath.router.routing.RouteSnapshot;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * A decision as operators see it, on the management port and in a line of the file.
 *
 * @param at                    ISO 8601, UTC
 * @param request               the answer's {@code x-request-id}
 * @param attempt               1 for the first worker that was asked
 * @param policy                that decided
 * @param reason                as in {@code x-warmpath-decision}
 * @param fleetCachedTokens     what some candidate was taken to hold, the most
 * @param predictedCachedTokens what the chosen worker was taken to hold
 * @param predictedFirstTokenMs  from the decision on; null if the chosen worker's pace was not known
 * @param indexGrade            the worst of the candidates'
 * @param candidateCount        how many there were; of more than 16, those that cost least are listed
 * @param leftOutCount          workers of the model that could not be chosen; of more than 16 some are listed
 * @param shadow                what another policy would have done; null if none is asked
 * @param outcome               null while the answer goes on
 * @param sight                 what the policy saw, of a line of the file under {@code warmpath.decisions.replay};
 *                              left out elsewhere
 */
@JsonInclude(JsonInclude.Include.ALWAYS)
@JsonNaming(SnakeCaseStrategy.class)
public record DecisionView(
        String at,
        String request,
        int attempt,
        String model,
        String revision,
        String worker,
        String policy,
        String reason,
        int promptTokens,
        int blockSize,
        int fleetCachedTokens,
        int predictedCachedTokens,
        @Nullable Double predictedFirstTokenMs,
        String indexGrade,
        int candidateCount,
        List<CandidateView> candidates,
        int leftOutCount,
        List<LeftOutView> leftOut,
        @Nullable ShadowView shadow,
        @Nullable OutcomeView outcome,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Sight sight) {

    /**
     * What came of it.
     *
     * @param end              answered, left (it was not wanted any more), or the cause of the failure
     * @param firstTokenMs     since the decision; null if none came
     * @param totalMs          since the decision
     * @param cachedTokens     found by the worker; null if it did not tell
     * @param completionTokens drawn by the worker; null if it did not tell
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    public record OutcomeView(String end, @Nullable Double firstTokenMs, double totalMs, @Nullable Integer cachedTokens,
            @Nullable Integer completionTokens) {

        static OutcomeView of(Outcome outcome) {
            return new OutcomeView(outcome.end(), Millis.orNull(outcome.firstTokenNanos()),
                    Millis.of(outcome.totalNanos()), outcome.cachedTokens(), outcome.completionTokens());
        }
    }

    public static DecisionView of(Decision decision) {
        return of(decision, /* with sight */ false);
    }

    static DecisionView of(Decision decision, boolean withSight) {
        var subject = decision.subject();
        var routed = decision.routed();
        RouteSnapshot snapshot = routed.snapshot();
        Outcome outcome = decision.outcome();
        return new DecisionView(decision.at().toString(), subject.requestId(), subject.attempt(), subject.model(),
                subject.revision(), routed.workerId(), routed.policy().text(), routed.reason().text(),
                snapshot.query().promptTokens(), snapshot.query().blockSize(), routed.fleetCachedTokens(),
                routed.cachedTokens(), Millis.orNull(routed.predictedFirstTokenNanos()),
                snapshot.indexGrade().text(), snapshot.candidateCount(),
                snapshot.candidates().stream().map(CandidateView::of).toList(),
                snapshot.leftOut().count(), LeftOutView.of(snapshot.leftOut()), ShadowView.of(routed),
                outcome == null ? null : OutcomeView.of(outcome), withSight ? Sight.of(snapshot) : null);
    }
}
