package dev.warmpath.router.health;

import java.util.Arrays;

/**
 * The last sixteen measurements of one thing and their median, which a few odd ones do not move: a client that reads
 * slowly makes its own stream slow, and no other. Guarded by its owner's lock.
 */
final class RecentSamples {

    /** Of too few samples: no time is negative. */
    static final long UNKNOWN = -1;
    private static final int KEPT = 16;
    private static final int ENOUGH = 8;

    private final long[] samples = new long[KEPT];
    private int count;
    private long median = UNKNOWN;
    private long last = UNKNOWN;

    void add(long sample) {
        last = sample;
        samples[count++ % KEPT] = sample;
        if (count >= ENOUGH) {
            long[] sorted = Arrays.copyOf(samples, Math.min(count, KEPT));
            Arrays.sort(sorted);
            median = sorted[sorted.length / 2];
        }
        count = count == 2 * KEPT ? KEPT : count;                  // full stays full, and counts no further
    }

    long median() {
        return median;
    }

    /** The newest one; {@link #UNKNOWN} if there is none. */
    long last() {
        return last;
    }

    void clear() {
        count = 0;
        median = UNKNOWN;
        last = UNKNOWN;
    }
}
