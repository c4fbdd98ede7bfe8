package dev.warmpath.acceptance;

import dev.warmpath.acceptance.Dashboard.Panel;
import dev.warmpath.acceptance.Dashboard.Query;
import dev.warmpath.acceptance.PrometheusProcess.Series;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Draws a dashboard with a run's data as one SVG, in the places that Grafana gives its panels. */
final class DashboardPicture {

    private static final int COLUMN = 60;
    private static final int ROW = 30;
    private static final int GAP = 4;
    private static final int LEFT = 62;
    private static final int TOP = 34;
    private static final int BOTTOM = 46;
    private static final int LEGEND_CHARACTERS = 9;                     // pixels for one of a legend, about
    private static final List<String> COLORS = List.of("#3274a1", "#e1812c", "#3a923a", "#c03d3e", "#9372b2", "#845b53",
            "#d684bd", "#7f7f7f", "#a9aa35", "#2eabb8");
    private static final Pattern LABEL = Pattern.compile("\\{\\{(\\w+)}}");

    private final StringBuilder svg = new StringBuilder();

    private record Line(String name, Map<Double, Double> values) {}

    private DashboardPicture() {}

    static String draw(Dashboard board, Function<Panel, Map<Query, List<Series>>> data) {
        var picture = new DashboardPicture();
        int height = board.panels().stream().mapToInt(panel -> panel.place().y() + panel.place().height()).max()
                .orElseThrow() * ROW + 2 * ROW;
        picture.write("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif'>\n",
                24 * COLUMN, height);
        picture.write("<rect width='100%%' height='100%%' fill='#f4f5f5'/>\n");
        picture.text(GAP * 2, 30, 20, "start", "#222", board.title());
        board.rows().forEach(row ->
                picture.text(GAP * 2, (row.y() + 2) * ROW + 4, 15, "start", "#444", "▾ " + row.title()));
        board.panels().forEach(panel -> picture.panel(panel, data.apply(panel)));
        return picture.svg.append("</svg>\n").toString();
    }

    private void panel(Panel panel, Map<Query, List<Series>> data) {
        int width = panel.place().width() * COLUMN - GAP;
        int height = panel.place().height() * ROW - GAP;
        write("<g transform='translate(%d %d)'><rect width='%d' height='%d' rx='3' fill='#fff' stroke='#ddd'/>\n",
                panel.place().x() * COLUMN + GAP / 2, (panel.place().y() + 1) * ROW + 15, width, height);
        text(10, 20, 13, "start", "#222", panel.title());
        List<Line> lines = lines(data);
        if (lines.isEmpty()) {
            text(width / 2, height / 2, 13, "middle", "#999", "no data here: there is no card in this fleet");
        } else {
            switch (panel.kind()) {
                case "stat" -> stat(panel, lines.getFirst(), width, height);
                case "heatmap" -> heatmap(lines, width, height);
                case "state-timeline" -> states(lines, width, height);
                default -> chart(panel, lines, width, height);
            }
        }
        write("</g>\n");
    }

    private static List<Line> lines(Map<Query, List<Series>> data) {
        List<Line> lines = new ArrayList<>();
        data.forEach((query, all) -> all.stream().filter(series -> !series.values().isEmpty())
                .sorted(Comparator.comparing(series -> series.labels().toString()))
                .forEach(series -> lines.add(new Line(LABEL.matcher(query.legend())
                        .replaceAll(label -> series.labels().getOrDefault(label.group(1), "")), series.values()))));
        return lines;
    }

    private void stat(Panel panel, Line line, int width, int height) {
        List<Double> values = List.copyOf(line.values().values());
        double most = values.stream().mapToDouble(value -> value).max().orElseThrow();
        var path = new StringBuilder("M0 " + height);
        for (int i = 0; i < values.size(); i++) {
            path.append(point(" L", (double) width * i / Math.max(1, values.size() - 1),
                    height - (most > 0 ? values.get(i) / most : 0) * height / 3));
        }
        write("<path d='%s L%d %d Z' fill='#3274a1' opacity='0.2'/>\n", path, width, height);
        text(width / 2, height / 2 + 16, 30, "middle", "#222", amount(values.getLast(), panel.unit()));
    }

    private void chart(Panel panel, List<Line> lines, int width, int height) {
        double most = scale(lines.stream().flatMap(line -> line.values().values().stream())
                .mapToDouble(value -> value).max().orElse(0), panel.unit().startsWith("b") ? 1_024 : 1_000);
        int plot = height - TOP - BOTTOM;
        for (int i = 0; i <= 2; i++) {
            int y = TOP + plot * i / 2;
            write("<path d='M%d %d H%d' stroke='#e5e5e5'/>\n", LEFT, y, width - 10);
            text(LEFT - 6, y + 4, 11, "end", "#666", amount(most * (2 - i) / 2, panel.unit()));
        }
        double begin = begin(lines);
        double span = span(lines);
        time(span, width, height);
        for (int i = 0; i < lines.size(); i++) {
            var path = new StringBuilder();
            for (var value : lines.get(i).values().entrySet()) {
                path.append(point(path.isEmpty() ? "M" : " L",
                        LEFT + (value.getKey() - begin) / span * (width - 10 - LEFT),
                        TOP + plot * (1 - Math.max(0, value.getValue()) / most)));
            }
            write("<path d='%s' fill='none' stroke='%s' stroke-width='1.5' stroke-linejoin='round'/>\n", path,
                    color(i));
        }
        legend(lines.stream().map(Line::name).toList(), width, height);
    }

    /** Cells of time and bucket; the lines are cumulative, a bucket each. */
    private void heatmap(List<Line> cumulative, int width, int height) {
        List<Line> buckets = cumulative.stream()
                .sorted(Comparator.comparingDouble(line -> bound(line.name()))).toList();
        var times = new ArrayList<>(new TreeSet<>(buckets.stream()
                .flatMap(line -> line.values().keySet().stream()).toList()));
        int columns = Math.min(40, times.size());
        double[][] counts = new double[buckets.size()][columns];
        for (int t = 0; t < times.size(); t++) {
            double before = 0;
            for (int bucket = 0; bucket < buckets.size(); bucket++) {
                double upTo = buckets.get(bucket).values().getOrDefault(times.get(t), 0.0);
                counts[bucket][t * columns / times.size()] += Math.max(0, upTo - before);
                before = upTo;
            }
        }
        int first = 0;
        int last = buckets.size() - 1;
        while (first < last && sum(counts[first]) == 0) {
            first++;
        }
        while (last > first && sum(counts[last]) == 0) {
            last--;
        }
        double most = Math.max(1e-9, Arrays.stream(counts).flatMapToDouble(Arrays::stream).max()
                .orElse(0));
        double cellWidth = (double) (width - 10 - LEFT) / columns;
        double cellHeight = (double) (height - TOP - BOTTOM) / (last - first + 1);
        for (int bucket = first; bucket <= last; bucket++) {
            double y = height - BOTTOM - (bucket - first + 1) * cellHeight;
            if (cellHeight > 11 || (bucket - first) % 2 == 0) {
                text(LEFT - 6, (int) (y + 4), 11, "end", "#666", bucket == buckets.size() - 1 ? "more"
                        : amount(bound(buckets.get(bucket).name()), "s"));
            }
            for (int column = 0; column < columns; column++) {
                if (counts[bucket][column] > 0) {
                    write("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#d95f0e' opacity='%.2f'/>\n",
                            LEFT + column * cellWidth, y, cellWidth - 1, cellHeight - 1,
                            0.15 + 0.85 * Math.sqrt(counts[bucket][column] / most));
                }
            }
        }
        time(span(buckets), width, height);
    }

    private void states(List<Line> lines, int width, int height) {
        double begin = begin(lines);
        double span = span(lines);
        int rowHeight = Math.min(24, (height - TOP - BOTTOM) / lines.size());
        for (int i = 0; i < lines.size(); i++) {
            int y = TOP + i * rowHeight;
            text(10, y + rowHeight / 2 + 4, 11, "start", "#444", lines.get(i).name());
            List<Double> times = List.copyOf(lines.get(i).values().keySet());
            double x = 150 + (times.getFirst() - begin) / span * (width - 160);
            write("<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s' opacity='0.7'/>\n", x, y,
                    Math.max(2, (times.getLast() - times.getFirst()) / span * (width - 160)), rowHeight - 3, color(i));
        }
        time(span, width, height);
    }

    private void time(double seconds, int width, int height) {
        text(LEFT, height - BOTTOM + 16, 11, "middle", "#666", "0 s");
        text(width - 12, height - BOTTOM + 16, 11, "end", "#666", Math.round(seconds) + " s");
    }

    private void legend(List<String> names, int width, int height) {
        int x = 12;
        for (int i = 0; i < names.size(); i++) {
            int needed = 24 + names.get(i).length() * LEGEND_CHARACTERS * 2 / 3;
            if (x + needed > width - 30) {
                text(x, height - 9, 11, "start", "#666", "+ " + (names.size() - i));
                return;
            }
            write("<rect x='%d' y='%d' width='10' height='3' fill='%s'/>\n", x, height - 14, color(i));
            text(x + 14, height - 9, 11, "start", "#444", names.get(i));
            x += needed;
        }
    }

    private static double begin(List<Line> lines) {
        return lines.stream().flatMap(line -> line.values().keySet().stream()).mapToDouble(time -> time).min()
                .orElse(0);
    }

    private static double span(List<Line> lines) {
        double end = lines.stream().flatMap(line -> line.values().keySet().stream()).mapToDouble(time -> time).max()
                .orElse(0);
        return Math.max(1, end - begin(lines));
    }

    /** The next 1, 2 or 5 times a power of ten, of what a thousand is in this unit; 1 for nothing. */
    private static double scale(double most, int thousand) {
        if (most <= 0) {
            return 1;
        }
        double unit = Math.pow(thousand, Math.max(0, Math.floor(Math.log(most) / Math.log(thousand))));
        double power = unit * Math.pow(10, Math.floor(Math.log10(most / unit)));
        double mantissa = most / power;
        return power * (mantissa <= 1 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10);
    }

    private static String amount(double value, String unit) {
        return switch (unit) {
            case "s" -> value >= 60 ? number(value / 60) + " min" : value >= 1 || value == 0 ? number(value) + " s"
                    : value >= 1e-3 ? number(value * 1e3) + " ms" : number(value * 1e6) + " µs";
            case "percentunit" -> number(value * 100) + " %";
            case "percent" -> number(value) + " %";
            case "bytes", "Bps" -> (value >= 1 << 30 ? number(value / (1 << 30)) + " GiB"
                    : value >= 1 << 20 ? number(value / (1 << 20)) + " MiB"
                    : value >= 1 << 10 ? number(value / (1 << 10)) + " KiB" : number(value) + " B")
                    + (unit.equals("Bps") ? "/s" : "");
            case "reqps" -> number(value) + " /s";
            default -> value >= 1e6 ? number(value / 1e6) + " M" : value >= 1e4 ? number(value / 1e3) + " k"
                    : number(value);
        };
    }

    private static String number(double value) {
        String digits = String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
        return digits.contains(".") ? digits.replaceFirst("\\.?0+$", "") : digits;
    }

    private static double bound(String bucket) {
        return bucket.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(bucket);
    }

    private static double sum(double[] values) {
        return Arrays.stream(values).sum();
    }

    private static String color(int i) {
        return COLORS.get(i % COLORS.size());
    }

    private static String point(String command, double x, double y) {
        return String.format(Locale.ROOT, "%s%.1f %.1f", command, x, y);
    }

    private void text(int x, int y, int size, String anchor, String color, String text) {
        write("<text x='%d' y='%d' font-size='%d' text-anchor='%s' fill='%s'>%s</text>\n", x, y, size, anchor, color,
                text.replace("&", "&amp;").replace("<", "&lt;"));
    }

    private void write(String format, Object... arguments) {
        svg.append(String.format(Locale.ROOT, format, arguments));
    }
}
