package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.WorkerHttp.WorkerAnswerException;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.prefix.Standing;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the index in step with one worker for as long as it is in the fleet: reads its event stream, and begins anew
 * with a snapshot whenever stream, sequence, digest or heartbeat say that something was lost (F17, F18).
 *
 * <p>A stream that held for some seconds is opened again almost at once, others with growing pauses until the lease
 * ends: a snapshot that is contradicted as soon as it has come must not become a loop of snapshots. A refused
 * connection, another epoch at the address or the worker's own word (503) means that this life of the worker is over.
 */
final class EventFollower implements WorkerLinks.Task {

    private static final Logger log = LoggerFactory.getLogger(EventFollower.class);
    /** A heartbeat overtakes the stream by less than this, however busy both are. */
    private static final Duration LONGEST_LAG = Duration.ofSeconds(2);
    /** Longer than the heartbeat takes to contradict a copy. */
    private static final Duration GOOD_STREAM = Duration.ofSeconds(5);

    private final Fleet fleet;
    private final FleetWorker worker;
    private final WorkerHttp http;
    private final LongSupplier nanoTime;
    private final Backoff backoff;
    private boolean behind;
    private long behindSinceNanos;

    EventFollower(Fleet fleet, FleetWorker worker, WorkerHttp http, LongSupplier nanoTime, RandomGenerator random) {
        this.fleet = fleet;
        this.worker = worker;
        this.http = http;
        this.nanoTime = nanoTime;
        this.backoff = Backoff.ofLink(random);
    }

    /** The copy cannot be trusted any more; a new snapshot is needed. */
    private static final class OutOfStepException extends Exception {
        private static final long serialVersionUID = 1L;

        OutOfStepException(String message) {
            super(message);
        }
    }

    @Override
    public void run() throws InterruptedException {
        while (!worker.isGone()) {
            String trouble = followOnce();
            if (worker.isGone()) {
                return;
            }
            log.info("event stream of worker {} ended: {}", worker, trouble);
            Thread.sleep(backoff.next());
        }
    }

    /** Reads one stream to its end. @return what ended it */
    private String followOnce() throws InterruptedException {
        behind = false;
        try (var in = new DataInputStream(new BufferedInputStream(http.events(worker)))) {
            long openedNanos = nanoTime.getAsLong();
            while (!worker.isGone()) {
                byte[] payload = EventFrames.read(in, EventFrames.maxPayloadBytes(worker.blockCount()));
                if (payload.length > 0) {
                    apply(KvEventCodec.decode(payload));
                }
                compareWithHeartbeat();
                if (nanoTime.getAsLong() - openedNanos > GOOD_STREAM.toNanos()) {
                    backoff.reset();
                }
            }
            return "the worker has left";
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
        } catch (OutOfStepException | EventFormatException e) {
            return e.toString();
        } catch (RuntimeException e) {
            log.error("following worker {} failed in the router", worker, e);
            return e.toString();
        }
    }

    private void apply(KvEventBatch batch) throws OutOfStepException {
        switch (worker.events().apply(batch)) {
            case ApplyOutcome.Applied(var _) -> fleet.indexed(worker);
            case ApplyOutcome.Repeated(var _) -> { }
            case ApplyOutcome.WrongSender stranger -> {
                fleet.remove(worker, "somebody else answers at its address: " + stranger);
                throw new OutOfStepException(stranger.toString());
            }
            case ApplyOutcome.Gap gap -> throw new OutOfStepException(gap.toString());
            case ApplyOutcome.Drift drift -> throw new OutOfStepException(drift.toString());
            case ApplyOutcome.TooManyKeys tooMany -> throw new OutOfStepException(tooMany.toString());
        }
    }

    /** Finds what the stream alone cannot: that its last batches are missing, or that the copy has gone wrong since. */
    private void compareWithHeartbeat() throws OutOfStepException {
        Heartbeat heartbeat = worker.heartbeat();
        if (heartbeat == null) {
            return;
        }
        switch (worker.events().compare(heartbeat.lastSequence(), heartbeat.setSize(), heartbeat.setDigest())) {
            case Standing.InStep() -> behind = false;
            case Standing.Behind(var _) when !behind -> {
                behind = true;
                behindSinceNanos = nanoTime.getAsLong();
            }
            case Standing.Behind(long batches) -> {
                if (nanoTime.getAsLong() - behindSinceNanos > LONGEST_LAG.toNanos()) {
                    throw new OutOfStepException("the last " + batches + " batches have not arrived");
                }
            }
            case Standing.Drift drift -> throw new OutOfStepException(drift.toString());
        }
    }
}
