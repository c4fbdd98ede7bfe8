package dev.warmpath.planner.study;

import dev.warmpath.planner.output.BarPlot;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Html;
import dev.warmpath.planner.output.LinePlot;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.study.StudyView.RowView;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A study as one HTML file: plots of times and hits for each fleet, over sizes where there are several, and all rows.
 */
public final class StudyPage {

    private StudyPage() {}

    public static String of(StudyView study) {
        var body = new StringBuilder();
        body.append("<p>%s requests, %s prompt tokens, blocks of %d tokens. The router's and the worker's own classes"
                + " under a ".formatted(Figures.count(study.load().requests()), Figures.count(study.load()
                .promptTokens()),
                        study.load().blockTokens()))
                .append("simulated clock; what a step takes is a model. Overloaded runs were given up when waits only"
                + " grew: "
                        + "their figures are those of the beginning.</p>\n");
        if (study.interrupted()) {
            body.append("<p><strong>Interrupted: rows are missing.</strong></p>\n");
        }
        overSizes(body, study, "workers", row -> Integer.toString(row.workers()),
                row -> routers(row) + ", cache " + row.cache());
        overSizes(body, study, "cache", RowView::cache, row -> row.workers() + " workers, " + routers(row));
        Map<String, List<RowView>> fleets = study.results().stream().collect(Collectors.groupingBy(StudyPage::fleet,
                LinkedHashMap::new, Collectors.toList()));
        fleets.forEach((name, rows) -> {
            body.append("<h2>").append(Html.escape(name)).append("</h2>\n");
            body.append(Html.figure(times(rows))).append(Html.figure(hits(study, rows)));
        });
        body.append("<h2>All rows</h2>\n").append(StudyTable.html(study.results()));
        body.append("<footer>").append(Html.escape(new Provenance(study.version(), study.commit(), study.seed(),
                study.inputs()).line())).append("</footer>\n");
        return Html.page("Simulation of " + study.load().name(), body.toString());
    }

    private static String fleet(RowView row) {
        return row.workers() + " workers, " + routers(row) + ", cache " + row.cache();
    }

    private static String routers(RowView row) {
        return row.routers() == 1 ? "1 router" : row.routers() + " routers";
    }

    private static String times(List<RowView> rows) {
        var plot = new BarPlot("Time to first token: mean, and the 90th percentile as a stroke");
        rows.forEach(row -> plot.bar(row.policy(), number(row.ttftMeanSeconds()),
                Figures.time(1e3 * number(row.ttftMeanSeconds())) + (row.overloaded() ? ", overloaded" : ""),
                number(row.ttftP90Seconds()), isOurs(row)));
        return plot.svg();
    }

    private static String hits(StudyView study, List<RowView> rows) {
        var plot = new BarPlot("Blocks of prompts that were found cached");
        rows.forEach(row -> plot.bar(row.policy(), number(row.hitRate()), Figures.percent(number(row.hitRate())),
                Double.NaN, isOurs(row)));
        study.bounds().stream().filter(each -> each.workers() == rows.getFirst().workers()
                && each.cache().equals(rows.getFirst().cache())).forEach(each -> plot
                        .line("one LRU cache for all " + Figures.percent(each.hitRateOneCache()),
                        each.hitRateOneCache()).line("clairvoyant " + Figures.percent(each.hitRateClairvoyant()),
                        each.hitRateClairvoyant()).line("infinite " + Figures.percent(each.hitRateInfiniteCache()),
                        each.hitRateInfiniteCache()));
        return plot.svg();
    }

    /** One plot of times for each fleet that differs from others in this size alone. */
    private static void overSizes(StringBuilder body, StudyView study, String axis, Function<RowView, String> size,
            Function<RowView, String> others) {
        Map<String, List<RowView>> groups = study.results().stream().collect(Collectors.groupingBy(others,
                LinkedHashMap::new, Collectors.toList()));
        groups.forEach((name, rows) -> {
            List<String> places = rows.stream().map(size).distinct().toList();
            if (places.size() > 1) {
                var plot = new LinePlot("Mean time to first token: " + name, axis, places, s -> Figures.time(1e3 * s));
                rows.stream().map(RowView::policy).distinct().forEach(policy -> plot.line(policy, places.stream()
                        .mapToDouble(place -> rows.stream()
                                .filter(row -> row.policy().equals(policy) && size.apply(row).equals(place))
                                .map(RowView::ttftMeanSeconds).filter(Objects::nonNull).mapToDouble(Double::doubleValue)
                                .findFirst().orElse(Double.NaN)).toArray()));
                body.append(Html.figure(plot.svg()));
            }
        });
    }

    private static boolean isOurs(RowView row) {
        return row.policy().equals("default");
    }

    private static double number(@Nullable Double value) {
        return value == null ? Double.NaN : value;
    }
}
