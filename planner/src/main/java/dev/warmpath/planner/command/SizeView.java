package dev.warmpath.planner.command;

import dev.warmpath.capacity.BlockPool;
import dev.warmpath.planner.cost.CostModel;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
import dev.warmpath.planner.study.Row;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How many workers a load needs.
 *
 * @param pool              of each worker
 * @param workers           the fewest; null if not even the most that are tried keep what is promised
 * @param roundRobinWorkers likewise, if requests go to one after the other
 * @param runs              with one worker fewer, with these, with one more
 */
record SizeView(Provenance provenance, CostModel cost, BlockPool pool, @Nullable Integer workers,
        @Nullable Integer roundRobinWorkers, List<Run> runs) {

    /** One fleet. @param broken why it does not keep what is promised; empty if it does */
    record Run(int workers, @Nullable Double hitRate, @Nullable Double ttftMeanSeconds, @Nullable Double ttftP90Seconds,
            @Nullable Double itlMeanSeconds, @Nullable Double busyShare, String broken) {

        private static Run of(Row row, String broken) {
            return new Run(row.cell().workers(), Figures.orNull(row.report().hitRate()),
                    Figures.orNull(row.report().meanMillis() / 1e3),
                    Figures.orNull(row.report().quantileMillis(0.9) / 1e3),
                    Figures.orNull(row.report().betweenTokens().meanMillis() / 1e3),
                    Figures.orNull(row.report().busyShare()), broken);
        }

        private List<String> cells() {
            return List.of(Integer.toString(workers), Figures.percent(known(hitRate)),
                    Figures.time(1e3 * known(ttftMeanSeconds)), Figures.time(1e3 * known(ttftP90Seconds)),
                    Figures.time(1e3 * known(itlMeanSeconds)), Figures.percent(known(busyShare)),
                    broken.isEmpty() ? "kept" : broken);
        }

        private static double known(@Nullable Double value) {
            return value == null ? Double.NaN : value;
        }
    }

    static SizeView of(Provenance provenance, CostModel cost, BlockPool pool, @Nullable Integer workers,
            @Nullable Integer roundRobin, List<Row> rows, Function<Row, String> broken) {
        return new SizeView(provenance, cost, pool, workers, roundRobin,
                rows.stream().map(row -> Run.of(row, broken.apply(row))).toList());
    }

    String text() {
        var table = new TextTable(0, "workers", "hits", "TTFT mean", "p90", "ITL mean", "busy", "SLO");
        runs.forEach(run -> table.add(run.cells()));
        return cost.name() + ", " + cost.source() + "; cache of a worker: " + Figures.count(pool.tokens())
                + " tokens in " + Figures.count(pool.blocks()) + " blocks\n" + needed(workers) + "; round robin: "
                + needed(roundRobinWorkers) + "\n\n" + table + '\n' + provenance.line() + '\n';
    }

    private static String needed(@Nullable Integer count) {
        return count == null ? "more workers than are tried" : count + (count == 1 ? " worker" : " workers");
    }
}
