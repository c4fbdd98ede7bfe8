package dev.warmpath.router.dispatch;

import java.util.concurrent.TimeUnit;

/**
 * How many second tries a router may add to the load of its workers: a share of the requests that came within the last
 * ten seconds, and a few in any case. Without a bound, workers that fail or are full would be sent everything several
 * times over, just when they can bear it least. Safe for use by several threads.
 */
final class RetryBudget {

    private static final int WINDOW_SECONDS = 10;

    private final double share;
    private final int least;
    /** By second modulo the window. */
    private final long[] requests = new long[WINDOW_SECONDS];
    private final long[] retries = new long[WINDOW_SECONDS];
    private long second = Long.MIN_VALUE / 2;

    /**
     * @param share of the requests in the window that may be tried again, each try counted
     * @param least tries in the window that are there even if no requests are
     */
    RetryBudget(double share, int least) {
        this.share = share;
        this.least = least;
    }

    /** A request has come. */
    synchronized void request(long nowNanos) {
        requests[at(nowNanos)]++;
    }

    /** Takes one more try, if there is one. */
    synchronized boolean take(long nowNanos) {
        int slot = at(nowNanos);
        if (sum(retries) + 1 > Math.max(least, share * sum(requests))) {
            return false;
        }
        retries[slot]++;
        return true;
    }

    /** Tries that are left for the requests that have come. */
    synchronized long left(long nowNanos) {
        at(nowNanos);
        return Math.max(0, (long) Math.max(least, share * sum(requests)) - sum(retries));
    }

    /** The place of this second, with those that have left the window emptied. */
    private int at(long nowNanos) {
        long now = Math.floorDiv(nowNanos, TimeUnit.SECONDS.toNanos(1));
        for (long passed = Math.max(second + 1, now - WINDOW_SECONDS + 1); passed <= now; passed++) {
            requests[slot(passed)] = 0;
            retries[slot(passed)] = 0;
        }
        second = Math.max(second, now);
        return slot(now);
    }

    private static int slot(long second) {
        return (int) Math.floorMod(second, (long) WINDOW_SECONDS);
    }

    private static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            sum += count;
        }
        return sum;
    }
}
