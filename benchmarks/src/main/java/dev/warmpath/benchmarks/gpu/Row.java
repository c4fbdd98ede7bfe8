package dev.warmpath.benchmarks.gpu;

import java.util.Map;

/**
 * A line of the table.
 * @param bound   the floor or the anchor that the share is taken of
 * @param verdict {@code met}, {@code missed}, or why there is none
 * @param times   what was timed, by name, for the JSON file
 */
record Row(String name, String measured, String bound, String share, String target, String verdict,
           Map<String, Times> times) {

    static final String HEADER = """
            | case | measured | bound | share | target | verdict |
            |---|---|---|---|---|---|
            """;

    String markdown() {
        return "| %s | %s | %s | %s | %s | %s |".formatted(name, measured, bound, share, target, verdict);
    }

    /** For sizes that no goal was set for. */
    Row withoutVerdict(String why) {
        boolean judged = verdict.equals("met") || verdict.equals("missed");
        return judged ? new Row(name, measured, bound, share, target, "not judged: " + why, times) : this;
    }
}
