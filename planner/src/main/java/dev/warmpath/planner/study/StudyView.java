package dev.warmpath.planner.study;

import dev.warmpath.planner.load.Bounds;
import dev.warmpath.planner.load.Survey;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.Report;
import dev.warmpath.planner.simulation.ServiceModel;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A study's result, as {@code --json} has it.
 *
 * @param interrupted  it was ended before all was done: rows are missing
 * @param load         what was simulated
 * @param cost         of a step, in microseconds, nanoseconds for the pair and the context's token
 * @param bounds       for each number of workers and size of cache; empty where nobody knows them
 * @param results      in the order in which they were asked for
 */
public record StudyView(String version, String commit, long seed, List<Provenance.Input> inputs, boolean interrupted,
        LoadView load, ServiceModel cost, List<BoundsView> bounds, List<RowView> results) {

    /**
     * @param distinctBlocks null if there are too many to count
     */
    public record LoadView(String name, long requests, long promptTokens, int blockTokens, long fullBlocks,
            @Nullable Integer distinctBlocks) {

        static LoadView of(String name, Survey survey) {
            return new LoadView(name, survey.requests(), survey.promptTokens(), survey.blockTokens(),
                    survey.fullBlocks(), survey.uses() == null ? null : survey.uses().distinct());
        }
    }

    /** What caches could find at best, with as much memory as all workers have together; see {@link Bounds}. */
    public record BoundsView(int workers, String cache, long cacheBlocks, double hitRateInfiniteCache,
            double hitRateClairvoyant, double hitRateOneCache) {

        static BoundsView of(int workers, CacheSize cache, long blocks, Bounds bounds) {
            return new BoundsView(workers, cache.text(), blocks, bounds.endless(), bounds.clairvoyant(),
                    bounds.oneCache());
        }
    }

    /**
     * A {@link Row}. Times are null where no request came so far.
     *
     * @param policy     by the name under which one asks for it
     * @param rule       the same as settings name it
     * @param overloaded the run was given up: waits grew without end
     * @param ttft…      from the request to its first token
     * @param itl…       between tokens, on average over a request
     */
    public record RowView(String policy, String rule, int workers, int routers, String cache, long cacheBlocks,
            long cacheTokens, boolean overloaded, long requests, long refusedRequests, @Nullable Double hitRate,
            @Nullable Double ttftMeanSeconds, @Nullable Double ttftP50Seconds, @Nullable Double ttftP90Seconds,
            @Nullable Double ttftP99Seconds, @Nullable Double itlMeanSeconds, @Nullable Double itlP90Seconds,
            @Nullable Double itlP99Seconds, @Nullable Double busyShare, @Nullable Double maxOverMeanTokens,
            long preemptions, double simulatedSeconds) {

        static RowView of(Row row, int blockTokens) {
            Report report = row.report();
            return new RowView(Policies.shortName(row.cell().policy()), row.cell().policy().text(),
                    row.cell().workers(), row.cell().routers(), row.cell().cache().text(), row.cacheBlocks(),
                    row.cacheBlocks() * blockTokens, report.isOverloaded(), report.requests(), report.refused(),
                    Figures.orNull(report.hitRate()), seconds(report.meanMillis()),
                    seconds(report.quantileMillis(0.5)), seconds(report.quantileMillis(0.9)),
                    seconds(report.quantileMillis(0.99)), seconds(report.betweenTokens().meanMillis()),
                    seconds(report.betweenTokens().quantileMillis(0.9)),
                    seconds(report.betweenTokens().quantileMillis(0.99)), Figures.orNull(report.busyShare()),
                    Figures.orNull(report.maxOverMeanTokens()), report.preemptions(), report.seconds());
        }

        private static @Nullable Double seconds(double millis) {
            return Figures.orNull(millis / 1e3);
        }
    }

    /** @param rows those that are there, in the order in which they were asked for */
    public static StudyView of(Provenance provenance, boolean interrupted, String name, Survey survey,
            ServiceModel cost, List<BoundsView> bounds, List<Row> rows) {
        return new StudyView(provenance.version(), provenance.commit(), provenance.seed(), provenance.inputs(),
                interrupted, LoadView.of(name, survey), cost, List.copyOf(bounds),
                rows.stream().map(row -> RowView.of(row, survey.blockTokens())).toList());
    }

    /** For a terminal. */
    public String text() {
        var text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%s: %,d requests, %,d prompt tokens, blocks of %d tokens%n", load.name,
                load.requests, load.promptTokens, load.blockTokens));
        if (!bounds.isEmpty()) {
            text.append("\nshare of full blocks that could be found, whatever the policy:\n")
                    .append(StudyTable.bounds(bounds));
        }
        text.append('\n').append(StudyTable.text(results)).append('\n');
        if (results.stream().anyMatch(RowView::overloaded)) {
            text.append("overloaded: given up when waits only grew; its figures are those of the beginning\n");
        }
        if (interrupted) {
            text.append("interrupted: rows are missing\n");
        }
        return text.append(new Provenance(version, commit, seed, inputs).line()).append('\n').toString();
    }
}
