package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.pool.PoolCodec;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.RefusedException;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PoolImage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells readers how the pool stands, and then what changes. One thread samples for all of them, and only while there
 * are any: it has the engine's thread copy its books between two steps, and compares and encodes them itself. It does
 * so five times a second, or less often, so that copying takes no more than a thousandth of the engine's time.
 *
 * <p>Nothing is kept for a reader that does not keep up: it is passed over, and once it can take a frame again, it is
 * given a whole one.
 */
public final class PoolFeed {

    /** Each gets bytes of its own to send. */
    public static final int MAX_READERS = 16;

    private static final Duration LEAST_INTERVAL = Duration.ofMillis(200);
    /** The engine's thread does something else for so many times as long as a copy takes. */
    private static final long REST_PER_COPY = 1_000;

    private static final Logger log = LoggerFactory.getLogger(PoolFeed.class);

    private final Engine engine;
    private final List<Attached> readers = new ArrayList<>();
    private @Nullable Thread sampler;
    private long number;
    private volatile int pauses;

    public PoolFeed(Engine engine) {
        this.engine = engine;
    }

    /** Who is told. Called on the sampler's thread; must not block. */
    public interface Reader {

        /** False while it has not got rid of what it was given. */
        boolean isReady();

        /** @param frame as of {@link EventFrames}; shared, not to be written */
        void take(byte[] frame);

        /** Nothing more will come: the engine has stopped. */
        void end();
    }

    /** A reader, and whether it has the frame before the next. */
    private static final class Attached {

        private final Reader reader;
        private volatile boolean follows;

        Attached(Reader reader) {
            this.reader = reader;
        }
    }

    /** From now on the reader is told. @return false if there are {@link #MAX_READERS} others */
    public synchronized boolean attach(Reader reader) {
        if (readers.size() == MAX_READERS) {
            return false;
        }
        readers.add(new Attached(reader));
        if (sampler == null) {
            sampler = Thread.ofPlatform().daemon().name("pool-feed").start(this::sample);
        }
        return true;
    }

    /** The reader is told nothing more. Does nothing if it is not told anything. */
    public synchronized void detach(Reader reader) {
        readers.removeIf(each -> each.reader == reader);
        notifyAll();
    }

    /** True while the engine is asked for samples. */
    synchronized boolean isSampling() {
        return sampler != null;
    }

    /** How often somebody who had been told everything did not take more. */
    int pauses() {
        return pauses;
    }

    synchronized int readerCount() {
        return readers.size();
    }

    private void sample() {
        try {
            sampleWhileRead();
        } catch (CancellationException e) {
            log.debug("the engine has stopped", e);
        } catch (InterruptedException | ExecutionException | RuntimeException e) {
            log.warn("the pool cannot be shown", e);
        } finally {
            end();
        }
    }

    private void sampleWhileRead() throws InterruptedException, ExecutionException {
        KvCacheSettings settings = engine.cacheSettings();
        var image = new PoolImage(settings.blockCount(), settings.hostBlockCount());
        var other = new PoolImage(settings.blockCount(), settings.hostBlockCount());
        PoolSample before = null;
        long restNanos = 0;
        while (rest(restNanos)) {
            PoolSample now = take(image);
            restNanos = LEAST_INTERVAL.toNanos();
            if (now != null) {
                number++;
                tell(now, before);
                // one copy that had to wait for a processor says nothing
                long copyNanos = before == null ? now.copyNanos() : Math.min(now.copyNanos(), before.copyNanos());
                restNanos = Math.max(restNanos, REST_PER_COPY * copyNanos);
                before = now;
                image = other;
                other = now.image();
            }
        }
    }

    /** @return null if too many others look at the engine */
    private @Nullable PoolSample take(PoolImage image) throws InterruptedException, ExecutionException {
        try {
            return engine.look(books -> PoolSample.take(books, image)).get();
        } catch (RefusedException e) {
            log.debug("no sample this time", e);
            return null;
        }
    }

    /** Waits for the next sample's time. @return false if nobody reads any more: this thread ends */
    private synchronized boolean rest(long nanos) throws InterruptedException {
        long until = System.nanoTime() + nanos;
        long left = nanos;
        while (left > 0 && !readers.isEmpty()) {
            wait(left / 1_000_000 + 1);
            left = until - System.nanoTime();
        }
        if (readers.isEmpty()) {
            sampler = null;
        }
        return sampler != null;
    }

    private void tell(PoolSample now, @Nullable PoolSample before) {
        List<Attached> told;
        synchronized (this) {
            told = List.copyOf(readers);
        }
        byte[] changes = null;
        byte[] whole = null;
        for (Attached each : told) {
            if (!each.reader.isReady()) {
                pauses += each.follows ? 1 : 0;
                each.follows = false;
            } else if (each.follows && before != null) {
                changes = changes == null ? encode(now.changes(number, before)) : changes;
                each.reader.take(changes);
            } else {
                whole = whole == null ? encode(now.whole(number)) : whole;
                each.reader.take(whole);
                each.follows = true;
            }
        }
    }

    private static byte[] encode(PoolFrame frame) {
        return EventFrames.frame(PoolCodec.encode(frame));
    }

    /** The sampler ends. If somebody reads still, it is the engine that has ended. */
    private void end() {
        List<Attached> told;
        synchronized (this) {
            if (sampler != Thread.currentThread()) {
                return;
            }
            told = List.copyOf(readers);
            readers.clear();
            sampler = null;
        }
        told.forEach(each -> each.reader.end());
    }
}
