package dev.warmpath.worker.poolfeed;

import java.util.function.LongSupplier;

/**
 * How often somebody may look at one block, or at one request's tables. The engine's thread does that, and everybody's
 * tokens wait: as for samples, looks are to take no more than a thousandth of its time. So a look costs a thousand
 * times as long as it took, and at least 50 ms: 20 a second, and as many at once after a second without any. What a
 * look will take is not known before; what it has taken beyond what the one before it did is paid for afterwards.
 */
final class LookBudget {

    private static final long REST_PER_LOOK = 1_000;
    private static final long LEAST_PRICE_NANOS = 50_000_000;
    private static final long MOST_SAVED_NANOS = 1_000_000_000;

    private final LongSupplier nanoTime;
    private long savedNanos = MOST_SAVED_NANOS;
    private long atNanos;
    private long lastNanos;
    private long priceNanos = LEAST_PRICE_NANOS;

    /** @param nanoTime a monotonic clock */
    LookBudget(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.atNanos = nanoTime.getAsLong();
    }

    /** @return what the look has cost beforehand, to be told to {@link #took}; 0: it may not be taken now */
    synchronized long take() {
        long now = nanoTime.getAsLong();
        savedNanos = Math.min(MOST_SAVED_NANOS, savedNanos + now - atNanos);
        atNanos = now;
        if (savedNanos <= 0) {
            return 0;
        }
        savedNanos -= priceNanos;
        return priceNanos;
    }

    /**
     * A look is over. A single long one says nothing, such as the first, so of two in a row the shorter counts.
     *
     * @param paid see {@link #take}
     */
    synchronized void took(long nanos, long paid) {
        priceNanos = Math.max(LEAST_PRICE_NANOS, REST_PER_LOOK * Math.min(nanos, lastNanos));
        lastNanos = nanos;
        savedNanos -= priceNanos - paid;
    }
}
