package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.WorkerCopy.State;
import dev.warmpath.router.fleetlink.WorkerHttp.WorkerAnswerException;
import dev.warmpath.router.handshake.StrangerException;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A worker's own event stream: a snapshot, then every batch, read for as long as its follower likes.
 *
 * <p>A worker that was asked a while ago is asked again at once, otherwise after growing pauses until its lease ends: a
 * snapshot that is contradicted as soon as it has come must not become a loop of snapshots. A refused connection,
 * another epoch at the address or the worker's own word (503) means that this life of the worker is over. One stream
 * after the other that breaks or falls silent within seconds is told, until one has lasted.
 */
final class WorkerStream {

    /** Longer than the heartbeat takes to contradict a copy. */
    private static final Duration GOOD_WHILE = Duration.ofSeconds(5);

    /** Streams in a row that did not last. */
    private static final int TOO_MANY = 3;

    private final Fleet fleet;
    private final FleetWorker worker;
    private final WorkerCopy copy;
    private final WorkerHttp http;
    private final LongSupplier nanoTime;
    private final Backoff backoff;
    private boolean asked;
    private long askedNanos;
    private int broken;

    WorkerStream(Fleet fleet, FleetWorker worker, WorkerCopy copy, WorkerHttp http, LongSupplier nanoTime,
            Backoff backoff) {
        this.fleet = fleet;
        this.worker = worker;
        this.copy = copy;
        this.http = http;
        this.nanoTime = nanoTime;
        this.backoff = backoff;
    }

    /**
     * Opens the stream and applies it, from its snapshot on.
     *
     * @param source how the snapshot is counted
     * @param enough asked after every frame
     * @return what ended it, or null if there was enough
     */
    @Nullable String read(ReloadSource source, BooleanSupplier enough) throws InterruptedException {
        pauseUnlessQuiet();
        String trouble = follow(source, enough);
        if (trouble == null) {
            forgive();
        }
        return trouble;
    }

    private @Nullable String follow(ReloadSource source, BooleanSupplier enough) throws InterruptedException {
        try (var in = new DataInputStream(new BufferedInputStream(http.events(worker)))) {
            do {
                byte[] payload = EventFrames.read(in, EventFrames.maxPayloadBytes(worker.keys().blockCount()));
                if (nanoTime.getAsLong() - askedNanos >= GOOD_WHILE.toNanos()) {
                    forgive();
                }
                if (payload.length > 0) {
                    copy.apply(KvEventCodec.decode(payload), source);
                }
                State state = copy.state();
                if (state != State.SOUND) {
                    return broke("the copy is " + state);
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
        } catch (StrangerException e) {
            fleet.remove(worker, "somebody else answers at its address: " + e.getMessage());
            return e.toString();
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedException("closed while reading events");
            }
            if (WorkerHttp.isRefusal(e)) {
                fleet.remove(worker, "its address refuses connections");
            }
            return broke(e.toString());
        } catch (EventFormatException e) {
            fleet.eventsStuck(worker, "its events cannot be read: " + e.getMessage());
            return e.toString();
        }
    }

    private String broke(String trouble) {
        broken = Math.min(TOO_MANY, broken + 1);
        if (broken == TOO_MANY) {
            fleet.streamEnds(worker, "its event stream does not last: " + trouble);
        }
        return trouble;
    }

    /** What its streams did so far is told no longer. */
    void forgive() {
        if (broken > 0) {
            broken = 0;
            fleet.streamEnds(worker, null);
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
