package dev.warmpath.worker.engine;

import dev.warmpath.worker.kvcache.PoolView;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What an engine knows between two steps, for a {@link Engine#look}. Nothing of it may be kept or changed: it belongs
 * to the engine's thread.
 *
 * @param snapshots takes one: counts and copies more than a look at one block is worth
 * @param nowNanos  on the engine's clock
 * @param held      true while the engine is stepped by hand
 */
public record EngineBooks(PoolView pool, Scheduler scheduler, Supplier<EngineSnapshot> snapshots, long nowNanos,
        boolean held) {

    public EngineSnapshot snapshot() {
        return snapshots.get();
    }

    /** Everybody who runs, in order of admission, and then everybody who waits, in order of service. */
    public void forEachAlive(Consumer<Sequence> consumer) {
        scheduler.forEachAlive(consumer);
    }

    /** What was computed last, or is being computed; without entries if there was nothing to do since. */
    public ScheduledBatch latestBatch() {
        return scheduler.latestBatch();
    }
}
