package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.WorkerCopy.State;
import dev.warmpath.router.fleetlink.WorkerHttp.WorkerAnswerException;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.KvEventApplier;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
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
 *
 * <p>A worker that was asked a while ago is asked again at once, otherwise after growing pauses until its lease ends: a
 * snapshot that is contradicted as soon as it has come must not become a loop of snapshots. A refused connection,
 * another epoch at the address or the worker's own word (503) means that this life of the worker is over.
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
    /** Longer than the heartbeat takes to contradict a copy. */
    private static final Duration GOOD_WHILE = Duration.ofSeconds(5);

    private final Fleet fleet;
    private final FleetWorker worker;
    private final WorkerCopy copy;
    private final LogInbox inbox;
    private final WorkerHttp http;
    private final LongSupplier nanoTime;
    private final Backoff backoff;
    private boolean asked;
    private long askedNanos;
    private @Nullable Heartbeat heard;
    private long heardNanos;
    private long recentSequence = KvEventApplier.NO_SEQUENCE;
    private long recentNanos;

    EventFollower(Fleet fleet, FleetWorker worker, WorkerCopy copy, LogInbox inbox, WorkerHttp http,
            LongSupplier nanoTime, RandomGenerator random) {
        this.fleet = fleet;
        this.worker = worker;
        this.copy = copy;
        this.inbox = inbox;
        this.http = http;
        this.nanoTime = nanoTime;
        this.backoff = Backoff.ofLink(random);
    }

    @Override
    public void run() throws InterruptedException {
        while (!worker.isGone()) {
            try {
                followLog();
                followDirectly();
            } catch (RuntimeException e) {
                log.error("following worker {} failed in the router", worker, e);
                Thread.sleep(backoff.next());
            }
        }
    }

    // ---- by the log

    private void followLog() throws InterruptedException {
        if (inbox.stream().isRead()) {
            worker.markFollowedBy(EventSource.LOG);
        }
        heardNanos = nanoTime.getAsLong();
        while (!worker.isGone() && inbox.stream().isRead()) {
            KvEventBatch batch = inbox.poll(copy.isEmpty() ? SHORT_TURN : TURN);
            if (batch != null) {
                copy.apply(batch, ReloadSource.CHECKPOINT);
            }
            State state = copy.state();
            if (state == State.UNSOUND && inbox.stream().isFresh()) {
                reload();
            } else if (state == State.LATE && inbox.stream().isFresh()) {
                log.info("worker {} is followed directly: its batches do not come through Redis", worker);
                return;
            }
            probeIfSilent();
        }
    }

    /** One snapshot from the worker itself. */
    private void reload() throws InterruptedException {
        String trouble = readWorker(ReloadSource.WORKER, () -> true);
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
            String trouble = readWorker(ReloadSource.STREAM, this::logTakesOver);
            if (trouble != null && !worker.isGone()) {
                log.info("event stream of worker {} ended: {}", worker, trouble);
            }
        }
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

    // ---- the worker's stream, for both

    /**
     * Reads the worker's stream, from its snapshot on.
     *
     * @param enough asked after every frame
     * @return what ended it, or null if there was enough
     */
    private @Nullable String readWorker(ReloadSource source, BooleanSupplier enough) throws InterruptedException {
        pauseUnlessQuiet();
        try (var in = new DataInputStream(new BufferedInputStream(http.events(worker)))) {
            do {
                byte[] payload = EventFrames.read(in, EventFrames.maxPayloadBytes(worker.blockCount()));
                if (payload.length > 0) {
                    copy.apply(KvEventCodec.decode(payload), source);
                }
                State state = copy.state();
                if (state != State.SOUND) {
                    return "the copy is " + state;
                }
            } while (!worker.isGone() && !enough.getAsBoolean());
            return null;
        } catch (WorkerAnswerException e) {
            if (e.status() == HttpURLConnection.HTTP_CONFLICT) {
                fleet.remove(worker, "another life answers at its address (" + e.getMessage() + ")");
            } else if (e.status() == HttpURLConnection.HTTP_UNAVAILABLE) {
                fleet.remove(worker, "it is going away (" + e.getMessage() + ")");
            } else {
                fleet.eventsStuck(worker, "its events cannot be read: " + e.getMessage());
            }
            return e.toString();
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedException("closed while reading events");
            }
            if (WorkerHttp.isRefusal(e)) {
                fleet.remove(worker, "its address refuses connections");
            }
            return e.toString();
        } catch (EventFormatException e) {
            return e.toString();
        }
    }

    private void pauseUnlessQuiet() throws InterruptedException {
        if (asked && nanoTime.getAsLong() - askedNanos < GOOD_WHILE.toNanos()) {
            Thread.sleep(backoff.next());
        } else {
            backoff.reset();
        }
        asked = true;
        askedNanos = nanoTime.getAsLong();
    }
}
