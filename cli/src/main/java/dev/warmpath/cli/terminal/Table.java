package dev.warmpath.cli.terminal;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Rows under heads. Where a terminal is too narrow for all columns, the least important ones are left out. */
public final class Table {

    private static final String GAP = "  ";

    private final List<Column> columns = new ArrayList<>();
    private final List<List<String>> rows = new ArrayList<>();

    /** @param importance the higher, the longer it stays */
    private record Column(String head, boolean right, int importance) {}

    public Table left(String head, int importance) {
        columns.add(new Column(head, false, importance));
        return this;
    }

    public Table right(String head, int importance) {
        columns.add(new Column(head, true, importance));
        return this;
    }

    /** @param cells one for each column */
    public void row(String... cells) {
        if (cells.length != columns.size()) {
            throw new IllegalArgumentException(cells.length + " cells for " + columns.size() + " columns");
        }
        rows.add(Arrays.stream(cells).map(Screen::harmless).toList());
    }

    /** @param width most characters of a line */
    public List<String> lines(int width) {
        int[] widths = new int[columns.size()];
        for (int i = 0; i < widths.length; i++) {
            int column = i;
            widths[i] = Math.max(columns.get(i).head.length(),
                    rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0));
        }
        List<Integer> shown = new ArrayList<>(IntStream.range(0, widths.length).boxed().toList());
        while (shown.size() > 1 && width(shown, widths) > width) {
            shown.remove(Collections.min(shown, Comparator.comparing(i -> columns.get(i).importance)));
        }
        List<String> lines = new ArrayList<>();
        lines.add(line(shown, widths, columns.stream().map(Column::head).toList()));
        rows.forEach(row -> lines.add(line(shown, widths, row)));
        return lines;
    }

    private static int width(List<Integer> shown, int[] widths) {
        return shown.stream().mapToInt(i -> widths[i]).sum() + GAP.length() * (shown.size() - 1);
    }

    private String line(List<Integer> shown, int[] widths, List<String> cells) {
        var line = new StringBuilder();
        for (int i : shown) {
            String space = " ".repeat(widths[i] - cells.get(i).length());
            line.append(line.isEmpty() ? "" : GAP)
                    .append(columns.get(i).right ? space + cells.get(i) : cells.get(i) + space);
        }
        return line.toString().stripTrailing();
    }
}
