package dev.warmpath.cli.bench;

import dev.warmpath.cli.bench.BenchReport.Goodput;
import dev.warmpath.cli.bench.BenchReport.Millis;
import dev.warmpath.cli.bench.BenchReport.Results;
import dev.warmpath.cli.terminal.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A report as lines for people. */
final class BenchPage {

    /** With less of it the load was another one than was wanted. */
    private static final double LEAST_SHARE = 0.9;

    private BenchPage() {}

    /** What is going to be done. */
    static List<String> beginning(BenchReport report) {
        return List.of("server        " + report.url() + ", model " + report.model() + ", "
                        + (report.contextTokens() == 0 ? "which tells no context"
                                : format("a context of %,d tokens", report.contextTokens())),
                "load          " + report.load() + ", " + pace(report) + ", seed " + report.seed(),
                "prompts       " + (report.spelling().equals("ids") ? "token ids" : "text") + ", "
                        + (report.scale() == 1 ? "as long as drawn"
                                : format("scaled to %.3f of their length", report.scale())));
    }

    private static String pace(BenchReport report) {
        if (report.concurrency() != null) {
            return "closed loop of " + report.concurrency() + " clients";
        }
        return format("open loop of %.2f requests/s", report.rate())
                + (report.speed() == null ? "" : format(", the trace's times at speed %.2f", report.speed()));
    }

    static List<String> lines(BenchReport report, @Nullable String firstError, int width) {
        Results results = report.results();
        List<String> lines = new ArrayList<>();
        if (report.interrupted()) {
            lines.add("interrupted: this is what there was so far");
        }
        lines.add(format("requests      %,d answered, %,d failed in %.1f s", results.requests().answered(),
                results.requests().failed(), results.seconds())
                + (results.requests().warmUp() > 0 ? ", after " + results.requests().warmUp() + " of warm-up" : ""));
        results.errors().entrySet().stream().sorted(Map.Entry.comparingByKey())
                .forEach(error -> lines.add(format("  %-11s %,d", error.getKey(), error.getValue())));
        if (firstError != null) {
            lines.add("  the first   " + firstError);
        }
        if (results.requests().leftOut() > 0) {
            lines.add(format("left out      %,d turns, longer than the context", results.requests().leftOut()));
        }
        if (results.requests().abandoned() > 0) {
            lines.add(format("abandoned     %,d turns that would have followed a failed one",
                    results.requests().abandoned()));
        }
        lines.addAll(kept(results));
        lines.add(format("throughput    %.2f requests/s, ", results.requestsPerSecond())
                + (results.promptTokensPerSecond() == null ? ""
                        : format("%,.1f prompt tokens/s, ", results.promptTokensPerSecond()))
                + format("%,.1f tokens/s", results.completionTokensPerSecond()));
        lines.add("tokens        " + (results.promptTokens() == null ? "the server does not tell of prompts"
                : format("%,d of prompts", results.promptTokens()))
                + format(", %,d drawn", results.completionTokens()));
        lines.add("hit rate      " + (results.hitRate() == null ? "the server does not tell"
                : format("%.1f %%: %,d prompt tokens were cached", 100 * results.hitRate(), results.cachedTokens())));
        Goodput goodput = results.goodput();
        if (goodput != null) {
            lines.add(format("goodput       %.2f requests/s, %.1f %% of all, keep %s", goodput.requestsPerSecond(),
                    100 * goodput.share(), text(goodput.slo())));
        }
        if (!results.workers().isEmpty()) {
            lines.add("workers       " + String.join(", ", results.workers().entrySet().stream()
                    .sorted(Map.Entry.comparingByKey()).map(each -> each.getKey() + " " + each.getValue()).toList()));
        }
        lines.add("");
        lines.addAll(times(results).lines(width));
        return lines;
    }

    private static List<String> kept(Results results) {
        BenchReport.@Nullable PaceKept pace = results.pace();
        if (pace == null) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        lines.add(format("pace          %.2f requests/s were due, %.2f were sent", pace.offeredPerSecond(),
                pace.achievedPerSecond()) + (results.lateMs() == null ? ""
                        : ", late by " + number(results.lateMs().p50()) + " ms (p50), " + number(results.lateMs().p99())
                                + " ms (p99)"));
        if (pace.share() < LEAST_SHARE) {
            lines.add(format("warning       only %.0f %% of the wanted rate was sent: this machine, or what lies"
                    + " between, does not keep up", 100 * pace.share()));
        }
        return lines;
    }

    private static Table times(Results results) {
        var table = new Table().left("ms", 6).right("mean", 2).right("p50", 5).right("p90", 3).right("p99", 4)
                .right("max", 1);
        row(table, "first token", results.ttftMs());
        row(table, "between tokens", results.itlMs());
        row(table, "whole answer", results.e2eMs());
        return table;
    }

    private static void row(Table table, String name, @Nullable Millis millis) {
        if (millis == null) {
            table.row(name, "–", "–", "–", "–", "–");
        } else {
            table.row(name, number(millis.mean()), number(millis.p50()), number(millis.p90()), number(millis.p99()),
                    number(millis.max()));
        }
    }

    private static String text(Slo slo) {
        List<String> parts = new ArrayList<>();
        add(parts, "ttft", slo.ttftMs());
        add(parts, "itl", slo.itlMs());
        add(parts, "e2e", slo.e2eMs());
        return String.join(", ", parts);
    }

    private static void add(List<String> parts, String name, @Nullable Double millis) {
        if (millis != null) {
            parts.add(name + " ≤ " + number(millis) + " ms");
        }
    }

    private static String number(double millis) {
        return format(millis < 10 ? "%.2f" : millis < 1_000 ? "%.1f" : "%,.0f", millis);
    }

    private static String format(String format, @Nullable Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
