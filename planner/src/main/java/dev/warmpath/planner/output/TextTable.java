package dev.warmpath.planner.output;

import java.util.ArrayList;
import java.util.List;

/** A table for a terminal: columns as wide as what is in them, two blanks between. */
public final class TextTable {

    private final List<String> heads;
    private final int texts;
    private final List<List<String>> rows = new ArrayList<>();

    /** @param texts how many columns, from the left, are texts; the others are numbers, and end under each other */
    public TextTable(int texts, String... heads) {
        this.texts = texts;
        this.heads = List.of(heads);
    }

    /** @param cells one for each column */
    public void add(List<String> cells) {
        if (cells.size() != heads.size()) {
            throw new IllegalArgumentException(cells.size() + " cells for " + heads.size() + " columns");
        }
        rows.add(List.copyOf(cells));
    }

    /** With a line break at the end of each line. */
    @Override
    public String toString() {
        int[] widths = new int[heads.size()];
        measure(widths, heads);
        rows.forEach(row -> measure(widths, row));
        var table = new StringBuilder();
        write(table, widths, heads);
        rows.forEach(row -> write(table, widths, row));
        return table.toString();
    }

    private static void measure(int[] widths, List<String> row) {
        for (int i = 0; i < widths.length; i++) {
            widths[i] = Math.max(widths[i], row.get(i).length());
        }
    }

    private void write(StringBuilder table, int[] widths, List<String> row) {
        var line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String blanks = " ".repeat(widths[i] - row.get(i).length());
            line.append(i == 0 ? "" : "  ").append(i < texts ? row.get(i) + blanks : blanks + row.get(i));
        }
        table.append(line.toString().stripTrailing()).append('\n');
    }
}
