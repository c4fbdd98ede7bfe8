package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.WorkerCopy.State;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.KvEventApplier;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the index in step with one worker for as long as it is in the fleet. The only thread that applies to this
 * worker's copy; the batches are the same on both ways:
 *
 * <p><b>By the log</b> in Redis, while it is read. What the log cannot heal (no checkpoint, a gap, drift) is healed by
 * one snapshot from the worker itself; meanwhile the inbox fills, and what the snapshot contains is skipped.
 *
 * <p><b>Directly</b>, by the worker's own stream, while Redis is away, not configured, or does not carry this worker's
 * batches (a worker cut off from Redis); until its batches appear in the log again, next to those known.
 */
final class EventFollower implements WorkerLinks.Task {

    private static final Logger log = LoggerFactory.getLogger(EventFollower.class);
    /** The heartbeat is looked at this often, batches or not. */
    private static final Duration TURN = Duration.ofMillis(250);
    /** A turn while there is no copy yet. */
    private static final Duration SHORT_TURN = Duration.ofMillis(10);
    /** A log that is behind the worker's own stream by more is not preferred to it. */
    private static final Duration MOMENT = Duration.ofMillis(500);
    private static final Duration HEARTBEAT_MISSED = Duration.ofSeconds(2);

    private final Fleet fleet;
    private final FleetWorker worker;
    private final WorkerCopy copy;
    private final LogInbox inbox;
    private final WorkerStream stream;
    private final LongSupplier nanoTime;
    private @Nullable Heartbeat heard;
    private long heardNanos;
    private long recentSequence = KvEventApplier.NO_SEQUENCE;
    private long recentNanos;

    EventFollower(Fleet fleet, FleetWorker worker, WorkerCopy copy, LogInbox inbox, WorkerStream stream,
            LongSupplier nanoTime) {
        this.fleet = fleet;
        this.worker = worker;
        this.copy = copy;
        this.inbox = inbox;
        this.stream = stream;
        this.nanoTime = nanoTime;
    }

    @Override
    public void run() throws InterruptedException {
        while (!worker.isGone()) {
            try {
                followLog();
                followDirectly();
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                log.error("following worker {} failed in the router", worker, e);
                Thread.sleep(TURN);
            }
        }
    }

    // ---- by the log

    private void followLog() throws InterruptedException {
        if (!inbox.stream().isRead()) {
            return;
        }
        heardNanos = nanoTime.getAsLong();
        do {
            KvEventBatch batch = inbox.poll(copy.isEmpty() ? SHORT_TURN : TURN);
            if (batch != null || inbox.stream().isFresh()) {
                worker.markFollowedBy(EventSource.LOG);            // not while it is only hoped for
            }
            if (batch != null) {
                copy.apply(batch, ReloadSource.CHECKPOINT);
            }
            State state = copy.state();
            if (state == State.SOUND) {
                stream.forgive();                                  // it is not needed while the log goes on
            }
            if (state == State.UNSOUND && inbox.stream().isFresh()) {
                reload();
            } else if (state == State.LATE && inbox.stream().isFresh()) {
                inbox.distrust();
                log.info("worker {} is followed directly: its batches do not come through Redis", worker);
                return;
            }
            probeIfSilent();
        } while (!worker.isGone() && isStillRead());
    }

    /** Looks twice: after a pause of the whole process its reader, too, has to come to its turn first. */
    private boolean isStillRead() throws InterruptedException {
        if (!inbox.stream().isRead()) {
            Thread.sleep(TURN);
        }
        return inbox.stream().isRead();
    }

    /** One snapshot from the worker itself. */
    private void reload() throws InterruptedException {
        String trouble = stream.read(ReloadSource.WORKER, () -> true);
        if (trouble != null && !worker.isGone()) {
            log.info("no snapshot of worker {}: {}", worker, trouble);
        }
    }

    /** No connection's end tells that a worker has died, while its batches come from Redis. */
    private void probeIfSilent() {
        long now = nanoTime.getAsLong();
        Heartbeat latest = worker.heartbeat();
        if (latest != heard) {
            heard = latest;
            heardNanos = now;
        } else if (now - heardNanos > HEARTBEAT_MISSED.toNanos()) {
            heardNanos = now;
            fleet.connectionLost(worker, new SocketTimeoutException("no heartbeat for " + HEARTBEAT_MISSED));
        }
    }

    // ---- directly

    private void followDirectly() throws InterruptedException {
        worker.markFollowedBy(EventSource.DIRECT);
        while (!worker.isGone() && !logTakesOver()) {
            String trouble = stream.read(ReloadSource.STREAM, this::logTakesOver);
            if (trouble != null && !worker.isGone()) {
                log.info("event stream of worker {} ended: {}", worker, trouble);
            }
        }
        stream.forgive();                                          // the log does without it
    }

    private boolean logTakesOver() {
        if (!inbox.stream().isFresh()) {
            return false;
        }
        return copy.isEmpty() ? inbox.offersCheckpoint() : inbox.continues(copy.sequence(), recentSequence());
    }

    private long recentSequence() {
        long now = nanoTime.getAsLong();
        if (now - recentNanos > MOMENT.toNanos() || recentSequence == KvEventApplier.NO_SEQUENCE) {
            recentNanos = now;
            recentSequence = copy.sequence();
        }
        return recentSequence;
    }
}
