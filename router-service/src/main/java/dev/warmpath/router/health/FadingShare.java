package dev.warmpath.router.health;

/**
 * A share of outcomes, the recent ones counting most, that fades to 0 with time.
 *
 * @param weight        of the newest outcome, between 0 and 1
 * @param halfLifeNanos in which the share halves when nothing happens
 * @param share         at that moment, 0 to 1
 */
public record FadingShare(double weight, double halfLifeNanos, double share, long atNanos) {

    /** Less is nothing to anybody, and need not be reckoned. */
    private static final double FADED = 1e-6;

    /** Of nothing yet. */
    FadingShare(double weight, double halfLifeNanos) {
        this(weight, halfLifeNanos, 0, 0);
    }

    FadingShare with(boolean counts, long nowNanos) {
        return new FadingShare(weight, halfLifeNanos, (1 - weight) * at(nowNanos) + (counts ? weight : 0), nowNanos);
    }

    /** 0 to 1. */
    double at(long nowNanos) {
        return share < FADED ? 0 : share * Math.pow(2, -(nowNanos - atNanos) / halfLifeNanos);
    }

    /** Whether it is as good as 0, and stays so while nothing happens. */
    boolean hasFaded(long nowNanos) {
        return at(nowNanos) < FADED;
    }

    FadingShare cleared() {
        return new FadingShare(weight, halfLifeNanos);
    }
}
