package dev.warmpath.benchmarks.prefix;

import java.util.Arrays;

/** Durations of single calls, in nanoseconds. One thread adds to it. */
final class Timings {

    private long[] nanos = new long[1_024];
    private int count;

    void add(long duration) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = duration;
    }

    void addAll(Timings others) {
        for (int i = 0; i < others.count; i++) {
            add(others.nanos[i]);
        }
    }

    /** @param parts of which each call had so many: the figures are of one of them */
    void print(String row, int parts) {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        double mean = Arrays.stream(sorted).average().orElse(0) / parts;
        System.out.printf("%-50s %10.0f %10.0f %10.0f %10d%n", row,
                (double) sorted[count / 2] / parts, (double) sorted[(int) (count * 0.99)] / parts, mean, count);
    }

    static void printHeader(String title) {
        System.out.printf("%n%-50s %10s %10s %10s %10s%n", title, "p50, ns", "p99, ns", "mean, ns", "calls");
    }
}
