package dev.warmpath.cli.look;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * What one router has told in the last minute. Each has its own: what a router has done while it did not answer is
 * spread over that time, and one that comes late brings nothing of before with it.
 */
final class Moments {

    private static final long RATE_NANOS = 10_000_000_000L;
    private static final long WINDOW_NANOS = 60_000_000_000L;
    /** More would be of no use: readings are a fifth of a second apart at least. */
    private static final int MOST = 300;

    private final Deque<Moment> moments = new ArrayDeque<>();

    private record Moment(long nanos, Totals totals) {}

    /**
     * A new moment, and what has come since others.
     *
     * @param lastMinute    null: nothing is known of it
     * @param recent        of the last ten seconds, or fewer; null: nothing is known of them
     * @param recentSeconds how many these are; above 0
     */
    record Change(Totals totals, @Nullable Totals lastMinute, @Nullable Totals recent, double recentSeconds) {}

    Change add(long now, Totals totals) {
        while (moments.size() >= MOST || !moments.isEmpty() && now - moments.getFirst().nanos > WINDOW_NANOS) {
            moments.removeFirst();
        }
        @Nullable Totals lastMinute = moments.isEmpty() ? null : totals.since(moments.getFirst().totals);
        @Nullable Moment before = moments.stream().filter(moment -> now - moment.nanos <= RATE_NANOS).findFirst()
                .orElse(null);
        moments.addLast(new Moment(now, totals));
        return before == null ? new Change(totals, lastMinute, null, 1) : new Change(totals, lastMinute,
                totals.since(before.totals), Math.max(1e-3, (now - before.nanos) / 1e9));
    }
}
