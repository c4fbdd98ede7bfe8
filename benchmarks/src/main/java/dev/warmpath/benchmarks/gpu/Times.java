package dev.warmpath.benchmarks.gpu;

import java.util.Arrays;

/**
 * How long something took, in nanoseconds, over its repetitions.
 * @param repetitions how often it was measured, at least 1
 * @param p90         nine in ten took no longer
 */
record Times(int repetitions, long min, long median, long p90) {

    static Times of(long[] nanos) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return new Times(sorted.length, sorted[0], quantile(sorted, 0.5), quantile(sorted, 0.9));
    }

    /** The smallest value that so large a share of all does not exceed. */
    private static long quantile(long[] sorted, double share) {
        return sorted[(int) Math.ceil(share * sorted.length) - 1];
    }

    /** Of the median: so many of whatever {@code amount} counts, a second. */
    double perSecond(double amount) {
        return amount * 1e9 / median;
    }

    double medianMicros() {
        return median / 1e3;
    }
}
