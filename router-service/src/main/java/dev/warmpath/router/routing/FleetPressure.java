package dev.warmpath.router.routing;

import dev.warmpath.router.health.HealthState;
import java.util.List;

/**
 * How hard the workers of one revision work, and how much of its prompts they find cached, as this router has seen it
 * lately. Those that get no requests are no measure. Its owner's lock guards it.
 */
final class FleetPressure {

    /** Long enough to see a queue that lasts, short enough to follow a rush. */
    private static final double BUSY_SECONDS = 2;
    /** Prompts of so many tokens say as much as all before them. */
    private static final double REUSE_TOKENS = 1_000_000;

    private double busyShare;
    private double reuse;
    private long lastNanos;
    private boolean hasSeen;

    /** The share of workers with prompts to compute, as {@link #observe} would leave it. Changes nothing. */
    double busyShare(List<Candidate> candidates, long nowNanos) {
        int healthy = 0;
        int busy = 0;
        for (Candidate each : candidates) {
            boolean counts = each.health() == HealthState.HEALTHY;
            healthy += counts ? 1 : 0;
            busy += counts && each.pendingTokens() > 0 ? 1 : 0;
        }
        if (!hasSeen || healthy == 0) {
            return busyShare;
        }
        double seconds = Math.max(0, nowNanos - lastNanos) / 1e9;
        return busyShare + (1 - Math.exp(-seconds / BUSY_SECONDS)) * ((double) busy / healthy - busyShare);
    }

    /** As it was last observed, 0 to 1. */
    double busyShare() {
        return busyShare;
    }

    /** Share of prompts' tokens that were expected to be cached where they were sent. */
    double reuse() {
        return reuse;
    }

    /** A request is about to be placed. @param candidates at least one */
    void observe(List<Candidate> candidates, long nowNanos) {
        busyShare = busyShare(candidates, nowNanos);
        lastNanos = nowNanos;
        hasSeen = true;
    }

    void placed(int cachedTokens, int promptTokens) {
        reuse += ((double) cachedTokens / promptTokens - reuse) * promptTokens / (promptTokens + REUSE_TOKENS);
    }
}
