package dev.warmpath.worker.histogram;

import java.util.Arrays;

/**
 * Counts values in buckets with fixed bounds. One thread owns an instance; others read {@link #distribution copies}.
 *
 * <p>Recording allocates nothing and looks first at the bucket of the value before: those of one step are mostly alike.
 */
public final class Histogram {

    /** Every bound in microseconds that a time is shown by, under our names or vLLM's. */
    private static final long[] MICROS = {
        100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 60_000, 75_000, 80_000, 100_000,
        150_000, 200_000, 250_000, 300_000, 400_000, 500_000, 750_000, 800_000, 1_000_000, 1_500_000, 2_000_000,
        2_500_000, 5_000_000, 7_500_000, 10_000_000, 15_000_000, 20_000_000, 30_000_000, 40_000_000, 50_000_000,
        60_000_000, 80_000_000, 120_000_000, 160_000_000, 240_000_000, 300_000_000, 480_000_000, 600_000_000,
        640_000_000, 960_000_000, 1_200_000_000, 1_800_000_000, 1_920_000_000, 2_560_000_000L, 7_680_000_000L,
    };
    /** Powers of two up to 16,384, and 1, 2 and 5 times powers of ten. */
    private static final long[] COUNTS = {
        1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1_000, 1_024, 2_000, 2_048, 4_096, 5_000,
        8_192, 10_000, 16_384, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
    };

    /** Inclusive; the last one is {@link Long#MAX_VALUE}. */
    private final long[] upperBounds;
    private final long[] counts;
    private long sum;
    private int last;

    /**
     * @param upperBounds of all buckets but the last, which has none; inclusive, ascending, at least one
     * @throws IllegalArgumentException if they are not
     */
    public Histogram(long... upperBounds) {
        for (int i = 1; i < upperBounds.length; i++) {
            if (upperBounds[i] <= upperBounds[i - 1]) {
                throw new IllegalArgumentException(
                        "bound " + upperBounds[i] + " does not lie above " + upperBounds[i - 1]);
            }
        }
        this.upperBounds = Arrays.copyOf(upperBounds, upperBounds.length + 1);
        this.upperBounds[upperBounds.length] = Long.MAX_VALUE;
        this.counts = new long[this.upperBounds.length];
    }

    /** Of times in nanoseconds, with buckets fine enough to be shown in vLLM's. */
    public static Histogram ofNanos() {
        return new Histogram(Arrays.stream(MICROS).map(micros -> micros * 1_000).toArray());
    }

    /** Of tokens or sequences, likewise. */
    public static Histogram ofCounts() {
        return new Histogram(COUNTS);
    }

    /** @param value in the unit of the bounds */
    public void record(long value) {
        if (value > upperBounds[last] || last > 0 && value <= upperBounds[last - 1]) {
            int place = Arrays.binarySearch(upperBounds, value);
            last = place >= 0 ? place : -place - 1;
        }
        counts[last]++;
        sum += value;
    }

    /** What was recorded so far. */
    public Distribution distribution() {
        return new Distribution(upperBounds, counts.clone(), sum);
    }
}
