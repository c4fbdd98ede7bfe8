package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.Standing;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the index knows of one worker, in the hands of the worker's follower: batches go in, and each time it is asked
 * it says whether it can be trusted. Tells fleet and meters on the way.
 */
final class WorkerCopy {

    private static final Logger log = LoggerFactory.getLogger(WorkerCopy.class);
    /** A heartbeat overtakes the batches by less than this, however busy both ends are. */
    private static final Duration LONGEST_LAG = Duration.ofSeconds(2);

    private final Fleet fleet;
    private final FleetWorker worker;
    private final RouterMetrics metrics;
    private final LongSupplier nanoTime;
    private long driftSequence = KvEventApplier.NO_SEQUENCE;

    /** How the copy stands to the worker's last heartbeat. */
    enum State {
        /** In step, ahead of the heartbeat, or behind it for a moment. */
        SOUND,
        /** Batches that the worker has sent are overdue. */
        LATE,
        /** Empty, or not what the worker says it is: a snapshot is needed. */
        UNSOUND
    }

    WorkerCopy(Fleet fleet, FleetWorker worker, RouterMetrics metrics, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.worker = worker;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
    }

    boolean isEmpty() {
        return sequence() == KvEventApplier.NO_SEQUENCE;
    }

    /** Of the last batch inside. */
    long sequence() {
        return worker.events().position().sequence();
    }

    /** @param source where a snapshot would come from; a checkpoint is for an empty copy */
    void apply(KvEventBatch batch, ReloadSource source) {
        if (!batch.snapshot() && isEmpty()
                || batch.snapshot() && source == ReloadSource.CHECKPOINT && !isEmpty()) {
            return;
        }
        ApplyOutcome outcome = worker.events().apply(batch);
        if (worker.isGone()) {                                     // its keys were taken away while the batch came in
            return;
        }
        switch (outcome) {
            case ApplyOutcome.Applied(var _) -> applied(batch, source);
            case ApplyOutcome.Repeated(var _) -> { }
            case ApplyOutcome.Gap gap -> {
                metrics.gapFound();
                log.info("copy of worker {} needs a snapshot: {}", worker, gap);
            }
            case ApplyOutcome.Drift drift -> {
                metrics.driftFound();
                log.warn("copy of worker {} needs a snapshot: {}", worker, drift);
            }
            case ApplyOutcome.TooManyKeys tooMany -> {
                metrics.batchRejected();
                fleet.eventsStuck(worker, "its events cannot be used: " + tooMany);
            }
            case ApplyOutcome.WrongSender stranger -> {
                metrics.batchRejected();
                fleet.remove(worker, "somebody else answers at its address: " + stranger);
            }
        }
    }

    private void applied(KvEventBatch batch, ReloadSource source) {
        metrics.changesApplied(batch.keyCount());
        if (batch.snapshot()) {
            metrics.reloaded(source);
            fleet.indexed(worker);
            worker.markLoaded(nanoTime.getAsLong());
        }
    }

    /** By the worker's last heartbeat (F17). */
    State state() {
        if (isEmpty()) {
            return State.UNSOUND;
        }
        return switch (worker.standing()) {
            case Standing.InStep() -> State.SOUND;
            case Standing.Behind _ -> worker.outOfStepNanos(nanoTime.getAsLong()) > LONGEST_LAG.toNanos()
                    ? State.LATE : State.SOUND;
            case Standing.Drift drift -> {
                tellOnce(drift);
                yield State.UNSOUND;
            }
        };
    }

    /** The copy stays as it is until a snapshot comes, and is looked at meanwhile. */
    private void tellOnce(Standing.Drift drift) {
        if (drift.sequence() != driftSequence) {
            driftSequence = drift.sequence();
            metrics.driftFound();
            log.warn("copy of worker {} needs a snapshot: {}", worker, drift);
        }
    }
}
