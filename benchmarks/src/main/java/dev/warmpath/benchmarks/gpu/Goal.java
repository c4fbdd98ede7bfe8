package dev.warmpath.benchmarks.gpu;

import java.util.Map;

/**
 * A row of the table before it is measured: its name and what it is held to.
 * @param measure how its share reads
 * @param least   share that meets the goal; {@link #NONE} asks for nothing
 * @param of      what the share is taken of
 */
record Goal(String name, Measure measure, double least, String of) {

    static final double NONE = 0;

    /** How a share is written: of a bound, or so many times as fast. */
    enum Measure { PERCENT, TIMES }

    static Goal share(String name, double least, String of) {
        return new Goal(name, Measure.PERCENT, least, of);
    }

    static Goal times(String name, double least, String of) {
        return new Goal(name, Measure.TIMES, least, of);
    }

    /** A row that only informs. */
    static Goal none(String name) {
        return new Goal(name, Measure.PERCENT, NONE, "");
    }

    private String write(double share) {
        return switch (measure) {
            case PERCENT -> "%.1f %%".formatted(100 * share);
            case TIMES -> "%.2f ×".formatted(share);
        };
    }

    String target() {
        if (least == NONE) {
            return "–";
        }
        return switch (measure) {
            case PERCENT -> "≥ %.0f %% of %s".formatted(100 * least, of);
            case TIMES -> "≥ %s %s".formatted(write(least), of);
        };
    }

    /** @param bound what the card or the anchor allows, in words */
    Row reached(String measured, String bound, double share, Map<String, Times> times) {
        String verdict = least == NONE ? "–" : share >= least ? "met" : "missed";
        return new Row(name, measured, bound, write(share), target(), verdict, times);
    }

    /** Measured, but there is nothing to hold it against. */
    Row unjudged(String measured, String why, Map<String, Times> times) {
        return new Row(name, measured, "–", "–", target(), "not judged: " + why, times);
    }

    Row notRun(String why) {
        return new Row(name, "–", "–", "–", target(), "not run: " + why, Map.of());
    }
}
