package dev.warmpath.planner.replay;

import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What came of a replay, as {@code --json} has it.
 *
 * @param decisions    that were asked again
 * @param trials       choices of the router's own, to try a worker out: not asked again
 * @param cut          of all, those that had more candidates than the log has: another policy may have wanted one of
 *                     the others
 * @param withoutSight of the log's decisions those whose lines do not say what the policy saw
 */
public record ReplayView(String version, String commit, List<Provenance.Input> inputs, boolean interrupted,
        long decisions, long trials, long withoutSight, long cut, List<Row> policies, Predictions predictions) {

    /**
     * @param live                 decisions that it made
     * @param sameAsItself         share of these that it makes again; null if there are none
     * @param sameAsLive           share of all decisions in which it chooses whom the live policy chose
     * @param hitRate              prompt tokens that its choices were taken to hold, as a share of all
     * @param uncachedTokens       a request, that its choices would have computed
     * @param workTokens           a request, what its first token would have waited for, in prompt tokens
     * @param workSeconds          the same at the pace that the chosen workers told
     * @param mostOverMeanRequests choices of the most chosen worker over those of the average one
     */
    public record Row(String policy, String rule, long live, @Nullable Double sameAsItself, double sameAsLive,
            double hitRate, double uncachedTokens, double workTokens, double workSeconds,
            double mostOverMeanRequests) {}

    /**
     * What the router said, and what came of it.
     *
     * @param answered    attempts of which the worker told what it found
     * @param predictedHitRate of prompt tokens
     * @param exactShare  of the answered, those that found exactly what was predicted
     * @param timed       attempts with a predicted first token, and one that came
     * @param ttftErrorSeconds mean of the differences' sizes
     */
    public record Predictions(long answered, double predictedHitRate, double foundHitRate, double exactShare,
            long timed, double ttftPredictedMeanSeconds, double ttftMeanSeconds, double ttftErrorSeconds) {}

    /** For a terminal. */
    public String text() {
        var text = new StringBuilder(String.format(Locale.ROOT, "%,d decisions%s%s%n%n", decisions,
                trials == 0 ? "" : ", " + Figures.count(trials) + " trials besides",
                withoutSight == 0 ? "" : ", " + Figures.count(withoutSight) + " without what was seen"));
        var table = new TextTable(1, "policy", "decided", "again", "as was done", "hit rate", "uncached",
                "work before TTFT", "in time", "most/mean");
        for (Row row : policies) {
            table.add(List.of(row.policy, Figures.count(row.live),
                    row.sameAsItself == null ? "–" : Figures.percent(row.sameAsItself), Figures.percent(row.sameAsLive),
                    Figures.percent(row.hitRate), Figures.count(Math.round(row.uncachedTokens)),
                    Figures.count(Math.round(row.workTokens)),
                    Figures.time(1e3 * row.workSeconds), Figures.ratio(row.mostOverMeanRequests)));
        }
        text.append(table).append("""

                again: of its own decisions, those that it makes again; tokens are a request's, in prompt tokens.
                Each choice is judged in the state that was; for a whole other history: plan simulate with this log.
                """);
        if (cut > 0) {
            text.append(Figures.count(cut)).append(" decisions had more candidates than the 16 that the log has,"
                    + " those that cost least under the policy that decided: what others would have chosen is known"
                    + " among these alone\n");
        }
        if (predictions.answered > 0) {
            text.append(String.format(Locale.ROOT, "%npredicted: %s of prompt tokens cached, found %s, exactly as"
                    + " predicted in %s of %,d%n", Figures.percent(predictions.predictedHitRate),
                    Figures.percent(predictions.foundHitRate), Figures.percent(predictions.exactShare),
                    predictions.answered));
        }
        if (predictions.timed > 0) {
            text.append(String.format(Locale.ROOT, "first token: predicted %s, came after %s on average, %s apart%n",
                    Figures.time(1e3 * predictions.ttftPredictedMeanSeconds),
                    Figures.time(1e3 * predictions.ttftMeanSeconds), Figures.time(1e3 * predictions.ttftErrorSeconds)));
        }
        return text.append(interrupted ? "interrupted: this is the log's begin\n" : "").append('\n')
                .append(new Provenance(version, commit, 0, inputs).line()).append('\n').toString();
    }
}
