package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome.Accepted;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.PrefixIndex;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One worker "w" of epoch 1. */
class WorkerCopyTest {

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final Fleet fleet =
            new Fleet(new PrefixIndex(), TestWorkers.CHECK, Duration.ofDays(1), 10, () -> 0, _ -> false);
    private final FleetWorker worker =
            ((Accepted) fleet.register(TestWorkers.registration("w", 1))).worker();
    private final WorkerCopy copy = new WorkerCopy(fleet, worker, new RouterMetrics(meters));
    private final KeySet announced = new KeySet();

    @Test
    void a_batch_that_differs_from_its_digest_is_counted_as_drift() {
        copy.apply(batch(0, 1), ReloadSource.STREAM, 0);
        announced.add(4711);
        copy.apply(batch(1, 2), ReloadSource.STREAM, 0);

        assertThat(meters.counter("warmpath.index.drift").count()).isEqualTo(1);
    }

    /** The fleet takes the keys away, wherever its follower is in a batch; that is no fault of the worker's. */
    @Test
    void a_worker_that_leaves_is_not_counted_as_drift() {
        copy.apply(batch(0, 1), ReloadSource.STREAM, 0);
        fleet.remove(worker, "it leaves");
        copy.apply(batch(1, 2), ReloadSource.STREAM, 0);

        assertThat(meters.counter("warmpath.index.drift").count()).isZero();
        assertThat(worker.isGone()).isTrue();
    }

    /** Number 0 is the snapshot. */
    private KvEventBatch batch(long sequence, long storedKey) {
        announced.add(storedKey);
        var stored = new BlockChange.Stored(Medium.DEVICE, new long[] {storedKey});
        return new KvEventBatch("w", 1, sequence, sequence == 0, List.of(stored), announced.size(),
                announced.digest());
    }
}
