package dev.warmpath.router.routing;

/**
 * How hard the workers of one revision work, and how much of its prompts they find cached, as this router has seen it
 * lately. Those that get no requests are no measure. Written under its owner's lock, read by anybody.
 */
final class FleetPressure {

    /** Long enough to see a queue that lasts, short enough to follow a rush. */
    private static final double BUSY_SECONDS = 2;
    /** Prompts of so many tokens say as much as all before them. */
    private static final double REUSE_TOKENS = 1_000_000;
    private static final long NEVER = Long.MIN_VALUE;

    private volatile Seen seen = new Seen(0, NEVER);
    private volatile double reuse;

    /** @param nanos when it was seen */
    private record Seen(double busyShare, long nanos) {}

    /** The share of workers with prompts to compute, as {@link #observe} would leave it. Changes nothing. */
    double busyShare(Candidates candidates, long nowNanos) {
        Seen last = seen;
        if (last.nanos == NEVER || candidates.healthy() == 0) {
            return last.busyShare;
        }
        double seconds = Math.max(0, nowNanos - last.nanos) / 1e9;
        double now = (double) candidates.busy() / candidates.healthy();
        return last.busyShare + (1 - Math.exp(-seconds / BUSY_SECONDS)) * (now - last.busyShare);
    }

    /** As it was last observed, 0 to 1. */
    double busyShare() {
        return seen.busyShare;
    }

    /** Share of prompts' tokens that were expected to be cached where they were sent. */
    double reuse() {
        return reuse;
    }

    /** A request is about to be placed. @param busyShare as of now, see {@link #busyShare(Candidates, long)} */
    void observe(double busyShare, long nowNanos) {
        if (seen.nanos == NEVER || nowNanos - seen.nanos >= 0) {   // else somebody who began later was faster
            seen = new Seen(busyShare, nowNanos);
        }
    }

    void placed(int cachedTokens, int promptTokens) {
        reuse += ((double) cachedTokens / promptTokens - reuse) * promptTokens / (promptTokens + REUSE_TOKENS);
    }
}
