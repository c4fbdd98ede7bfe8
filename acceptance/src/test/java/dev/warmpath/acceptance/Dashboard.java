package dev.warmpath.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * One of the chart's dashboards for Grafana, as far as Prometheus has to answer it.
 *
 * @param name      of its file, without the ending
 * @param rows      headings between panels
 * @param marks     what its annotations ask
 * @param variables what its variables may be chosen from
 */
record Dashboard(String name, String title, List<Panel> panels, List<Row> rows, List<String> marks,
        List<Variable> variables) {

    private static final Path FOLDER = LocalFleet.ROOT.resolve("helm/warmpath/files/dashboards");
    private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.+), (\\w+)\\)");

    /** Columns of 24, and rows of Grafana's grid, from the upper left. */
    record Place(int x, int y, int width, int height) {

        boolean overlaps(Place other) {
            return x < other.x + other.width && other.x < x + width && y < other.y + other.height
                    && other.y < y + height;
        }
    }

    record Panel(int id, String kind, String title, String unit, List<Query> queries, Place place) {}

    /** @param legend with labels in double braces */
    record Query(String expression, String legend) {}

    record Row(String title, int y) {}

    record Variable(String name, String selector, String label) {}

    /** All that lie in the chart, by name. */
    static List<Dashboard> all() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.sorted().map(Dashboard::read).toList();
        }
    }

    private static Dashboard read(Path file) {
        JsonNode board = JsonMapper.shared().readTree(file.toFile());
        List<Panel> panels = board.path("panels").valueStream()
                .filter(panel -> !panel.path("type").asString().equals("row")).map(Dashboard::panel).toList();
        List<Row> rows = board.path("panels").valueStream()
                .filter(panel -> panel.path("type").asString().equals("row"))
                .map(row -> new Row(row.path("title").asString(), row.path("gridPos").path("y").asInt())).toList();
        List<String> marks = board.path("annotations").path("list").valueStream()
                .map(mark -> mark.path("expr").asString()).toList();
        List<Variable> variables = board.path("templating").path("list").valueStream()
                .filter(variable -> variable.path("type").asString().equals("query")).map(Dashboard::variable).toList();
        return new Dashboard(file.getFileName().toString().replace(".json", ""), board.path("title").asString(), panels,
                rows, marks, variables);
    }

    private static Panel panel(JsonNode panel) {
        JsonNode place = panel.path("gridPos");
        return new Panel(panel.path("id").asInt(), panel.path("type").asString(), panel.path("title").asString(),
                panel.path("fieldConfig").path("defaults").path("unit").asString(),
                panel.path("targets").valueStream()
                        .map(query -> new Query(query.path("expr").asString(), query.path("legendFormat").asString()))
                        .toList(),
                new Place(place.path("x").asInt(), place.path("y").asInt(), place.path("w").asInt(),
                        place.path("h").asInt()));
    }

    private static Variable variable(JsonNode variable) {
        Matcher values = LABEL_VALUES.matcher(variable.path("query").asString());
        if (!values.matches()) {
            throw new IllegalArgumentException("neither a selector nor a label: " + variable);
        }
        return new Variable(variable.path("name").asString(), values.group(1), values.group(2));
    }

    /** A query as Grafana sends it. @param chosen what the variables stand for, by name */
    static String filled(String expression, Map<String, String> chosen) {
        String filled = expression;
        for (var variable : chosen.entrySet()) {
            filled = filled.replace("$" + variable.getKey(), variable.getValue());
        }
        if (filled.contains("$")) {
            throw new IllegalArgumentException("a variable that nobody fills in: " + filled);
        }
        return filled;
    }
}
