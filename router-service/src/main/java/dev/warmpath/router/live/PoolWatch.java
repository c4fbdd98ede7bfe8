package dev.warmpath.router.live;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.pool.PoolCodec;
import dev.warmpath.protocol.pool.PoolCopy;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.protocol.pool.PoolShape;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Follows one worker's pool while somebody watches it, and keeps the last changes as events, so that all who watch are
 * given the same bytes. A stream that breaks is asked for again, each second.
 */
final class PoolWatch implements AutoCloseable {

    /** Some seconds of changes: who is further behind is given the whole pool, and if they are larger than it. */
    private static final int MAX_CHANGES = 32;
    private static final int MIN_CHANGE_BYTES = 1 << 16;
    /** Blocks of swap space that are believed: 16 million tokens in blocks of 16. */
    private static final int MAX_HOST_BLOCKS = 1 << 20;
    private static final String SILENT = "it does not answer now; what it holds is asked for each second";
    private static final long PAUSE_MILLIS = 1_000;
    private static final Logger log = LoggerFactory.getLogger(PoolWatch.class);

    private final FleetWorker worker;
    private final WorkerHttp http;
    private final JsonMapper json;
    private final Thread thread;
    private volatile boolean closed;
    private volatile @Nullable String unavailable;
    private volatile boolean hasNone;
    private boolean faultIsTold;

    // guarded by this
    private final PoolCopy copy = new PoolCopy();
    private final Deque<Change> changes = new ArrayDeque<>();
    private byte @Nullable [] whole;
    private long changeBytes;

    private record Change(long sample, byte[] event) {}

    /** What somebody is to be sent who has seen a sample. @param sample that he has seen then */
    record News(long sample, byte[] events) {}

    PoolWatch(FleetWorker worker, WorkerHttp http, JsonMapper json) {
        this.worker = worker;
        this.http = http;
        this.json = json;
        this.thread = Thread.ofVirtual().name("live-pool-" + worker.id()).start(this::follow);
    }

    FleetWorker worker() {
        return worker;
    }

    /** Why there is nothing to see; null while there is, or may be. */
    @Nullable String unavailable() {
        return unavailable;
    }

    /** True once the worker has said that it keeps no pool: it is not asked again. */
    boolean hasNone() {
        return hasNone;
    }

    /** As the last frame said; null before the first. */
    synchronized @Nullable Boolean held() {
        PoolFrame last = copy.last();
        return last == null ? null : last.held();
    }

    /** @param seen the last sample that was sent; below 0 if none was. @return null if there is nothing new */
    synchronized @Nullable News since(long seen) {
        PoolFrame last = copy.last();
        if (last == null || last.sample() == seen) {
            return null;
        }
        boolean follows = seen >= 0 && !changes.isEmpty() && changes.getFirst().sample() <= seen + 1;
        if (!follows) {
            if (whole == null) {
                whole = SentEvent.of("pool", PoolPicture.whole(worker, copy, last), json);
            }
            return new News(last.sample(), whole);
        }
        var events = new ByteArrayOutputStream();
        changes.stream().filter(each -> each.sample() > seen).forEach(each -> events.writeBytes(each.event()));
        return new News(last.sample(), events.toByteArray());
    }

    private void follow() {
        while (!closed && !worker.isGone()) {
            try (var in = new DataInputStream(new BufferedInputStream(http.pool(worker)))) {
                while (!closed) {
                    byte[] payload = EventFrames.read(in, PoolCodec.maxPayloadBytes(worker.blockCount() + 1));
                    if (payload.length > 0) {
                        apply(PoolCodec.decode(payload));
                    }
                }
            } catch (WorkerHttp.WorkerAnswerException e) {
                hasNone = e.status() == HttpURLConnection.HTTP_NOT_FOUND;
                unavailable = hasNone ? "its engine keeps its pool to itself" : e.getMessage();
                if (hasNone) {
                    return;
                }
            } catch (IOException | EventFormatException e) {
                unavailable = SILENT;
                log.debug("the pool of {} is not followed: {}", worker, e.toString());
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                unavailable = SILENT;
                if (!faultIsTold) {                                // it may come again each second
                    faultIsTold = true;
                    log.error("following the pool of {} failed in the router; this is said once", worker, e);
                }
            }
            pause();
        }
    }

    private synchronized void apply(PoolFrame frame) {
        requirePossible(frame.shape());
        PoolFrame before = copy.last();
        copy.apply(frame);
        unavailable = null;
        whole = null;
        if (frame.whole() || before == null) {
            forgetChanges();
            return;
        }
        byte[] event = SentEvent.of("pool", PoolPicture.changes(worker, copy, frame, before), json);
        changes.addLast(new Change(frame.sample(), event));
        changeBytes += event.length;
        if (changeBytes > Math.max(MIN_CHANGE_BYTES, 2L * copy.blockCount())) {
            forgetChanges();
        } else if (changes.size() > MAX_CHANGES) {
            changeBytes -= changes.removeFirst().event().length;
        }
    }

    private void forgetChanges() {
        changes.clear();
        changeBytes = 0;
    }

    /** What is claimed is made room for: it has to be what the worker registered with, and the null block. */
    private void requirePossible(PoolShape shape) {
        if (shape.blockCount() != worker.blockCount() + 1 || shape.hostBlockCount() > MAX_HOST_BLOCKS) {
            throw new EventFormatException("worker " + worker.id() + " registered " + worker.blockCount()
                    + " blocks, and shows a pool of " + shape.blockCount() + " and " + shape.hostBlockCount());
        }
    }

    private void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            closed = true;
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
