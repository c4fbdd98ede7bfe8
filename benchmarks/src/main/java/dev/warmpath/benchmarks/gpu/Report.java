package dev.warmpath.benchmarks.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;

/**
 * The table, printed and written row by row, so that a run which is cut short still shows what it had:
 * {@code timings.md} and, with all medians, minima and 90th percentiles in nanoseconds, {@code timings.json}.
 */
final class Report {

    private final Path directory;
    private final List<Row> rows = new ArrayList<>();
    private String device = "no device";

    Report(Path directory) {
        this.directory = directory;
    }

    private record Json(String device, List<Row> rows) {}

    void device(String description) {
        device = description;
        System.out.printf("%s%n%n", description);
    }

    void add(Row row) {
        if (rows.isEmpty()) {
            System.out.print(Row.HEADER);
        }
        rows.add(row);
        System.out.println(row.markdown());
        var table = new StringBuilder(device).append("\n\n").append(Row.HEADER);
        rows.forEach(each -> table.append(each.markdown()).append('\n'));
        try {
            Files.writeString(directory.resolve("timings.md"), table);
            Files.write(directory.resolve("timings.json"),
                    JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsBytes(new Json(device, rows)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether every case ran. */
    boolean complete() {
        return rows.stream().noneMatch(row -> row.verdict().startsWith("not run"));
    }
}
