package dev.warmpath.benchmarks.gateway;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The tables: what was measured, how ours stands to the others, and which goals it reaches. */
final class Report {

    private static final String OURS = "ours";
    private static final List<Goal> GOALS = List.of(
            new Goal(Figure.SHORT_CPU, 0.9, "smg", Figure.SHORT_CPU),
            new Goal(Figure.MID_CPU, 1.3, "smg", Figure.MID_CPU),
            new Goal(Figure.MID_CPU, 0.4, "dynamo", Figure.MID_CPU),
            new Goal(Figure.LONG_CPU, 0.1, "dynamo", Figure.LONG_CPU),
            new Goal(Figure.LATER_TURN_CPU, 2, OURS, Figure.SHORT_CPU),
            new Goal(Figure.TOKEN_ALONE_CPU, 40),
            new Goal(Figure.TOKEN_BURST_CPU, 25),
            new Goal(Figure.MOST_REQUESTS, 0.35, "nginx", Figure.MOST_REQUESTS),
            new Goal(Figure.FIRST_P50, 0.8),
            new Goal(Figure.FIRST_P99, 1.6),
            new Goal(Figure.STREAM_MEMORY, 100),
            new Goal(Figure.STREAMS_LOST, 0),
            new Goal(Figure.LEASES_LOST, 0),
            new Goal(Figure.REQUEST_ALLOCATION, 40),
            new Goal(Figure.TOKEN_ALLOCATION, 0.5));

    private final Map<String, Map<Figure, Double>> columns = new LinkedHashMap<>();

    /** A limit for ours: at most, for throughput at least. @param gateway to whose figure it relates; null = to none */
    private record Goal(Figure figure, double limit, @Nullable String gateway, @Nullable Figure other) {

        Goal(Figure figure, double limit) {
            this(figure, limit, null, null);
        }

        private String text() {
            String bound = (figure == Figure.MOST_REQUESTS ? "≥ " : "≤ ") + trimmed(limit);
            return gateway == null ? bound : bound + " × " + (other == figure ? gateway + "'s" : "short");
        }
    }

    void add(String gateway, Map<Figure, Double> figures) {
        columns.put(gateway, new EnumMap<>(figures));
    }

    void print() {
        System.out.println();
        row("", columns.keySet().stream().toList());
        System.out.println("|---|" + "---:|".repeat(columns.size()));
        for (Figure figure : Figure.values()) {
            if (columns.values().stream().anyMatch(column -> column.containsKey(figure))) {
                row(figure.title, cells(column -> column.containsKey(figure)
                        ? number(column.get(figure), figure.decimals) : "–"));
            }
        }
        Map<Figure, Double> ours = columns.get(OURS);
        if (ours != null) {
            printRatios(ours);
            printGoals(ours);
        }
    }

    private void printRatios(Map<Figure, Double> ours) {
        List<String> others = columns.keySet().stream().filter(name -> !name.equals(OURS)).toList();
        if (others.isEmpty()) {
            return;
        }
        System.out.println();
        row("ours ÷", others);
        System.out.println("|---|" + "---:|".repeat(others.size()));
        for (Figure figure : Figure.values()) {
            if (figure.isCompared && ours.containsKey(figure) && others.stream().anyMatch(other -> ratio(ours, figure, other) > 0)) {
                row(figure.title.replaceFirst("[:,][^:]*$", ""), others.stream().map(other ->
                        ratio(ours, figure, other) > 0 ? number(ratio(ours, figure, other), 2) : "–").toList());
            }
        }
    }

    private double ratio(Map<Figure, Double> ours, Figure figure, String other) {
        double theirs = columns.get(other).getOrDefault(figure, 0.0);
        return theirs > 0 ? ours.get(figure) / theirs : 0;
    }

    private void printGoals(Map<Figure, Double> ours) {
        System.out.println("\n| goal | limit | ours | |\n|---|---:|---:|---|");
        for (Goal goal : GOALS) {
            Double figure = ours.get(goal.figure);
            Double unit = goal.gateway == null ? Double.valueOf(1)
                    : columns.getOrDefault(goal.gateway, Map.of()).get(goal.other);
            if (figure == null || unit == null) {
                continue;
            }
            boolean met = goal.figure == Figure.MOST_REQUESTS ? figure >= goal.limit * unit
                    : figure <= goal.limit * unit;
            row(goal.figure.title, List.of(goal.text(), number(figure / unit, goal.gateway == null
                    ? goal.figure.decimals : 2), met ? "met" : "**missed**"));
        }
    }

    private List<String> cells(Function<Map<Figure, Double>, String> cell) {
        return columns.values().stream().map(cell).toList();
    }

    private static void row(String title, List<String> cells) {
        System.out.println(cells.stream().collect(Collectors.joining(" | ", "| " + title + " | ", " |")));
    }

    private static String number(double value, int decimals) {
        return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }

    private static String trimmed(double value) {
        return value == Math.rint(value) ? number(value, 0) : Double.toString(value);
    }
}
