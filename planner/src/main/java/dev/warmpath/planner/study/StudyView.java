package dev.warmpath.planner.study;

import dev.warmpath.planner.load.Bounds;
import dev.warmpath.planner.load.Survey;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
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
            text.append("\nshare of full blocks that could be found, whatever the policy:\n").append(boundsTable());
        }
        text.append('\n').append(rowsTable()).append('\n');
        if (results.stream().anyMatch(RowView::overloaded)) {
            text.append("overloaded: given up when waits only grew; its figures are those of the beginning\n");
        }
        if (interrupted) {
            text.append("interrupted: rows are missing\n");
        }
        return text.append(new Provenance(version, commit, seed, inputs).line()).append('\n').toString();
    }

    private TextTable boundsTable() {
        var table = new TextTable(0, "workers", "cache", "infinite cache", "clairvoyant", "one LRU cache for all");
        for (BoundsView each : bounds) {
            table.add(List.of(Integer.toString(each.workers), each.cache, Figures.percent(each.hitRateInfiniteCache),
                    Figures.percent(each.hitRateClairvoyant), Figures.percent(each.hitRateOneCache)));
        }
        return table;
    }

    private TextTable rowsTable() {
        var table = new TextTable(1, "policy", "workers", "routers", "cache", "hit rate", "TTFT mean", "p50", "p90", "p99",
                "ITL mean", "busy", "most/mean", "preempted", "");
        for (RowView each : results) {
            table.add(List.of(each.policy, Integer.toString(each.workers), Integer.toString(each.routers), each.cache,
                    percent(each.hitRate), time(each.ttftMeanSeconds), time(each.ttftP50Seconds),
                    time(each.ttftP90Seconds), time(each.ttftP99Seconds), time(each.itlMeanSeconds),
                    percent(each.busyShare), each.maxOverMeanTokens == null ? "–" : Figures.ratio(each.maxOverMeanTokens),
                    Figures.count(each.preemptions), note(each)));
        }
        return table;
    }

    private static String note(RowView row) {
        return (row.overloaded ? "overloaded" : "")
                + (row.refusedRequests > 0 ? " " + Figures.count(row.refusedRequests) + " too long for the cache" : "");
    }

    private static String percent(@Nullable Double share) {
        return Figures.percent(share == null ? Double.NaN : share);
    }

    private static String time(@Nullable Double seconds) {
        return Figures.time(seconds == null ? Double.NaN : seconds * 1e3);
    }
}
