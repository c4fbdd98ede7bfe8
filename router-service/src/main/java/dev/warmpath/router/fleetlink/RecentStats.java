package dev.warmpath.router.fleetlink;

import dev.warmpath.router.prefix.PrefixIndex;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The index's figures for its gauges: they are asked for one after the other in each scrape, and the index, which walks
 * over its whole table to answer, once.
 */
final class RecentStats {

    /** Longer than a scrape takes, shorter than anything between two. */
    private static final Duration KEPT = Duration.ofMillis(500);

    private final PrefixIndex index;
    private final LongSupplier nanoTime;
    private PrefixIndex.@Nullable Stats stats;
    private long takenNanos;

    /** @param nanoTime a monotonic clock, as {@link System#nanoTime} */
    RecentStats(PrefixIndex index, LongSupplier nanoTime) {
        this.index = index;
        this.nanoTime = nanoTime;
    }

    /** At most half a second old. */
    synchronized PrefixIndex.Stats get() {
        long now = nanoTime.getAsLong();
        PrefixIndex.Stats recent = stats;
        if (recent == null || now - takenNanos > KEPT.toNanos()) {
            recent = index.stats();
            stats = recent;
            takenNanos = now;
        }
        return recent;
    }
}
