package dev.warmpath.worker.histogram;

import java.util.Arrays;

/** How many values lay in which bucket, as of one moment; never changes. */
public final class Distribution {

    /** Inclusive; the last one is {@link Long#MAX_VALUE}. */
    private final long[] upperBounds;
    /** By bucket, not cumulative. */
    private final long[] counts;
    private final long sum;

    /** The arrays are not copied: nobody writes to them any more. */
    Distribution(long[] upperBounds, long[] counts, long sum) {
        this.upperBounds = upperBounds;
        this.counts = counts;
        this.sum = sum;
    }

    /** Of all values, in their unit. */
    public long sum() {
        return sum;
    }

    /** Of values. */
    public long count() {
        return Arrays.stream(counts).sum();
    }

    /**
     * How many values lie in coarser buckets, each between a bound (excluded) and the next (included).
     *
     * @param bounds ascending, each of them a bound of this distribution
     * @return one count for each of them, and one for all above
     * @throws IllegalArgumentException if one is not
     */
    public long[] counts(long... bounds) {
        long[] coarse = new long[bounds.length + 1];
        int bucket = 0;
        for (int i = 0; i < bounds.length; i++) {
            int end = Arrays.binarySearch(upperBounds, bounds[i]);
            if (end < bucket) {
                throw new IllegalArgumentException(bounds[i] + " is no bound, or stands behind a higher one");
            }
            for (; bucket <= end; bucket++) {
                coarse[i] += counts[bucket];
            }
        }
        for (; bucket < counts.length; bucket++) {
            coarse[bounds.length] += counts[bucket];
        }
        return coarse;
    }
}
