package dev.warmpath.worker.routerlink;

import java.time.Duration;

/**
 * When one router is told before the next second how the worker is: there is something new since it last took a
 * heartbeat, and the last try is an interval ago. New work is told where there are other routers that may have brought
 * it; that somebody holds the worker, or lets it go on, is told in any case: no router knows it. However much happens
 * in an interval is one heartbeat, and what a lost one said is in the next, an interval later. Knows no clock.
 */
final class EarlyHeartbeats {

    private final long intervalNanos;
    private long toldNews;
    private boolean toldHeld;
    private long triedNanos;

    /** @param interval zero = never */
    EarlyHeartbeats(Duration interval) {
        this.intervalNanos = interval.toNanos();
    }

    /** A heartbeat is sent now, an early one or not. */
    void tried(long nowNanos) {
        triedNanos = nowNanos;
    }

    /**
     * The router has taken it.
     *
     * @param news as it was before the heartbeat was made: what came meanwhile may be told twice, but not left out
     * @param held likewise
     */
    void told(long news, boolean held) {
        toldNews = news;
        toldHeld = held;
    }

    /** @param routers that know this worker; one alone knows its own work */
    boolean isDue(long news, boolean held, int routers, long nowNanos) {
        return intervalNanos > 0 && (held != toldHeld || routers > 1 && news != toldNews)
                && nowNanos - triedNanos >= intervalNanos;
    }

    /**
     * How long to sleep before looking whether one is due.
     *
     * @param leftNanos until the next heartbeat that is sent in any case
     */
    long pauseNanos(long leftNanos) {
        return intervalNanos > 0 ? Math.min(leftNanos, intervalNanos) : leftNanos;
    }
}
