package dev.warmpath.router.health;

/** A share of outcomes, the recent ones counting most, that fades to 0 with time. Guarded by its owner's lock. */
final class FadingShare {

    private final double weight;
    private final double halfLifeNanos;
    private double share;
    private long atNanos;

    /**
     * @param weight        of the newest outcome, between 0 and 1
     * @param halfLifeNanos in which the share halves when nothing happens
     */
    FadingShare(double weight, double halfLifeNanos) {
        this.weight = weight;
        this.halfLifeNanos = halfLifeNanos;
    }

    void add(boolean counts, long nowNanos) {
        share = (1 - weight) * at(nowNanos) + (counts ? weight : 0);
        atNanos = nowNanos;
    }

    /** 0 to 1. */
    double at(long nowNanos) {
        return share == 0 ? 0 : share * Math.pow(2, -(nowNanos - atNanos) / halfLifeNanos);
    }

    void clear() {
        share = 0;
    }
}
