package dev.warmpath.planner.study;

import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Html;
import dev.warmpath.planner.output.TextTable;
import dev.warmpath.planner.study.StudyView.BoundsView;
import dev.warmpath.planner.study.StudyView.RowView;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rows and bounds of a study for people. */
final class StudyTable {

    private static final List<String> HEAD = List.of("policy", "workers", "routers", "cache", "hit rate", "TTFT mean",
            "p50", "p90", "p99", "ITL mean", "busy", "most/mean", "preempted", "");

    private StudyTable() {}

    static String text(List<RowView> rows) {
        var table = new TextTable(1, HEAD.toArray(String[]::new));
        rows.forEach(row -> table.add(cells(row)));
        return table.toString();
    }

    static String html(List<RowView> rows) {
        return Html.table(HEAD, rows.stream().map(StudyTable::cells).toList());
    }

    static String bounds(List<BoundsView> bounds) {
        var table = new TextTable(0, "workers", "cache", "infinite cache", "clairvoyant", "one LRU cache for all");
        for (BoundsView each : bounds) {
            table.add(List.of(Integer.toString(each.workers()), each.cache(),
                    Figures.percent(each.hitRateInfiniteCache()), Figures.percent(each.hitRateClairvoyant()),
                    Figures.percent(each.hitRateOneCache())));
        }
        return table.toString();
    }

    private static List<String> cells(RowView row) {
        return List.of(row.policy(), Integer.toString(row.workers()), Integer.toString(row.routers()), row.cache(),
                percent(row.hitRate()), time(row.ttftMeanSeconds()), time(row.ttftP50Seconds()),
                time(row.ttftP90Seconds()), time(row.ttftP99Seconds()), time(row.itlMeanSeconds()),
                percent(row.busyShare()), row.maxOverMeanTokens() == null ? "–"
                : Figures.ratio(row.maxOverMeanTokens()), Figures.count(row.preemptions()), note(row));
    }

    private static String note(RowView row) {
        return ((row.overloaded() ? "overloaded" : "") + (row.refusedRequests() > 0
                ? " " + Figures.count(row.refusedRequests()) + " too long for the cache" : "")).strip();
    }

    private static String percent(@Nullable Double share) {
        return Figures.percent(share == null ? Double.NaN : share);
    }

    private static String time(@Nullable Double seconds) {
        return Figures.time(seconds == null ? Double.NaN : seconds * 1e3);
    }
}
