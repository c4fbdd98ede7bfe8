package dev.warmpath.router.fleetlink.stream;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.stream.StreamSignal.Reason;
import dev.warmpath.router.fleetlink.stream.WorkerHttp.WorkerAnswerException;
import dev.warmpath.router.handshake.StrangerException;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;

/**
 * A worker's own event stream: a snapshot, then every batch. A refused connection, another epoch at the address or the
 * worker's own word (503) means that this life of the worker is over. For one thread.
 */
public final class WorkerStream implements AutoCloseable {

    private final FleetWorker worker;
    private final WorkerHttp http;
    private DataInputStream in = new DataInputStream(InputStream.nullInputStream());

    public WorkerStream(FleetWorker worker, WorkerHttp http) {
        this.worker = worker;
        this.http = http;
    }

    /** Asks the worker for its events from a snapshot on. The answer comes with the first frame. */
    public void open() {
        close();
        in = new DataInputStream(new BufferedInputStream(http.events(worker)));
    }

    /** Waits for what comes next. */
    public StreamSignal read() throws InterruptedException {
        try {
            byte[] payload = EventFrames.read(in, EventFrames.maxPayloadBytes(worker.keys().blockCount()));
            return new StreamSignal.Frame(payload.length == 0 ? null : KvEventCodec.decode(payload));
        } catch (WorkerAnswerException e) {
            return switch (e.status()) {
                case HttpURLConnection.HTTP_CONFLICT ->
                        ended(Reason.GONE, "another life answers at its address (" + e.getMessage() + ")");
                case HttpURLConnection.HTTP_UNAVAILABLE ->
                        ended(Reason.GONE, "it is going away (" + e.getMessage() + ")");
                default -> ended(Reason.UNREADABLE, String.valueOf(e.getMessage()));
            };
        } catch (StrangerException e) {
            return ended(Reason.GONE, "somebody else answers at its address: " + e.getMessage());
        } catch (EventFormatException e) {
            return ended(Reason.UNREADABLE, String.valueOf(e.getMessage()));
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedException("closed while reading events");
            }
            return WorkerHttp.isRefusal(e) ? ended(Reason.GONE, "its address refuses connections")
                    : ended(Reason.BROKEN, e.toString());
        }
    }

    private static StreamSignal ended(Reason reason, String why) {
        return new StreamSignal.Ended(reason, why);
    }

    @Override
    public void close() {
        try {
            in.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
