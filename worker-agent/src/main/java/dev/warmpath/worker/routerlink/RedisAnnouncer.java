package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisReadOnlyException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes the worker's announcements to Redis: batches into its stream, now and then a checkpoint, every second its
 * lease; and a mark when it has had nothing to write for a while.
 *
 * <p>A subscriber of {@link KvEventPublisher} like any reader over HTTP, with one virtual thread between its bounded
 * queue and Redis, so nothing here holds up the engine. Whatever goes wrong (Redis lost, full, read-only, too slow for
 * the queue) has one answer: forget the queue, pause, subscribe anew. A subscription begins with a snapshot, which
 * becomes a checkpoint, and all that was lost before is in it.
 */
public final class RedisAnnouncer implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RedisAnnouncer.class);
    private static final Duration TURN = Duration.ofSeconds(1);
    private static final Duration BETWEEN_CLEANINGS = Duration.ofSeconds(60);
    /** Of one that takes long. */
    private static final Duration BETWEEN_PARTS = Duration.ofSeconds(2);
    private static final Duration LOOK_FOR_REDIS = Duration.ofMillis(50);
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    private static final int MAX_FRAMES_UNDER_WAY = 256;

    private final RedisLink redis;
    private final RedisProperties properties;
    private final KvEventPublisher publisher;
    private final int blockCount;
    private final WorkerLease lease;
    private final Backoff backoff = new Backoff(SHORTEST_PAUSE, LONGEST_PAUSE, RandomGenerator.getDefault());
    private @Nullable Thread thread;
    private volatile boolean closed;

    // written by the one thread only
    private volatile @Nullable String problem = "not connected yet";
    private volatile long batches;
    private volatile long checkpoints;
    private volatile long restarts;

    /** @param redis stays the caller's, who closes it after this */
    public RedisAnnouncer(RedisLink redis, RedisProperties properties, KvEventPublisher publisher,
            Registration registration, FleetToken token, JsonMapper json) {
        this.redis = redis;
        this.properties = properties;
        this.publisher = publisher;
        this.blockCount = registration.blockCount();
        this.lease = new WorkerLease(redis, registration.workerId(), registration.epoch(),
                token.seal(json.writeValueAsString(registration)), System::nanoTime);
    }

    /**
     * How it goes.
     *
     * @param problem     why nothing is written now, as a sentence; null while all is well
     * @param batches     batches written
     * @param checkpoints checkpoints written
     * @param restarts    how often writing broke off
     */
    public record Status(@Nullable String problem, long batches, long checkpoints, long restarts) {}

    public Status status() {
        return new Status(problem, batches, checkpoints, restarts);
    }

    /** To be called once the worker can be used: whoever finds its lease sends requests. */
    public synchronized void start() {
        if (thread == null && !closed) {
            thread = Thread.ofVirtual().name("redis-announcer").start(this::announceAgainAndAgain);
        }
    }

    /** Takes lease, checkpoint and name out of Redis, if it can be reached; waits a few command timeouts at most. */
    @Override
    public void close() {
        Thread running;
        synchronized (this) {
            closed = true;
            running = thread;
            thread = null;
        }
        if (running == null) {
            return;
        }
        running.interrupt();
        try {
            running.join(TURN);
            if (redis.isConnected()) {
                lease.release();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RedisException | CancellationException e) {
            log.info("what this worker has in Redis stays until it expires: {}", redis.messageOf(e));
        }
    }

    private void announceAgainAndAgain() {
        try {
            while (!closed) {
                Thread.sleep(announce());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();                    // closed
        }
    }

    /** Writes for as long as it can. @return how long to wait before the next try */
    private Duration announce() throws InterruptedException {
        if (!redis.isConnected()) {
            problem = redis.problem();                             // in the log already
            return LOOK_FOR_REDIS;
        }
        try {
            // before a snapshot is made: where Redis is full or read-only, this fails at little cost
            Long newer = lease.renew();
            if (newer == null) {
                writeUntilFenced();
            } else {
                trouble("worker id '" + publisher.workerId() + "' is used by a newer process of epoch " + newer
                        + ": this one, of epoch " + publisher.epoch() + ", announces nothing to Redis");
            }
            return TURN;
        } catch (RedisCommandTimeoutException | RedisReadOnlyException e) {
            redis.reconnect();                                     // half open, or demoted: elsewhere it may go on
            return afterFailure(e);
        } catch (RedisException | CancellationException e) {       // a broken connection cancels what is under way
            return afterFailure(e);
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            log.error("announcing to Redis failed in the worker", e);
            return afterFailure(e);
        }
    }

    private void writeUntilFenced() throws InterruptedException {
        var redisLog = new RedisLog(redis, properties, publisher.workerId(), blockCount);
        var inbox = new Inbox();
        publisher.subscribe(inbox);
        try {
            long now = System.nanoTime();
            long nextTurn = now + TURN.toNanos();
            long nextCleaning = now;
            while (true) {
                write(inbox.take(nextTurn - now), redisLog);
                now = System.nanoTime();
                if (now - nextTurn >= 0) {
                    nextTurn = now + TURN.toNanos();
                    if (lease.renew() != null) {
                        return;
                    }
                    if (redisLog.keep(now) || lease.overlapEnds()) {
                        publisher.snapshot(inbox);
                    }
                    if (now - nextCleaning >= 0) {
                        boolean more = lease.strikeOutTheDead();
                        nextCleaning = now + (more ? BETWEEN_PARTS : BETWEEN_CLEANINGS).toNanos();
                    }
                    well();
                }
            }
        } finally {
            publisher.unsubscribe(inbox);
        }
    }

    /** A snapshot goes into the checkpoint, and only after what was published before it. */
    private void write(List<KvEventBatch> taken, RedisLog redisLog) {
        int from = 0;
        for (int i = 0; i <= taken.size(); i++) {
            if (i == taken.size() || taken.get(i).snapshot()) {
                redisLog.append(taken.subList(from, i), System.nanoTime());
                batches += i - from;
                from = i + 1;
            }
            if (i < taken.size() && taken.get(i).snapshot()) {
                redisLog.checkpoint(taken.get(i), System.nanoTime());
                checkpoints++;
            }
        }
    }

    private void well() {
        if (problem != null) {
            log.info("announcing to Redis at {}", redis.describe());
            problem = null;
        }
        backoff.reset();
    }

    private Duration afterFailure(Throwable e) {
        if (closed) {                                              // while a command was under way
            return Duration.ZERO;
        }
        restarts++;
        trouble("cannot write to Redis at " + redis.describe() + ", trying again: " + redis.messageOf(e));
        return backoff.next();
    }

    private void trouble(String sentence) {
        if (!sentence.equals(problem)) {
            problem = sentence;
            log.warn(sentence);
        }
    }

    /** The bridge from the engine's thread; its bound is that of a reader over HTTP. */
    private static final class Inbox implements KvEventPublisher.Subscriber {

        private final BlockingQueue<byte[]> frames = new ArrayBlockingQueue<>(KvEventStream.MAX_QUEUED_FRAMES);
        private volatile boolean overflowed;

        @Override
        public boolean offer(byte[] frame) {
            overflowed |= !frames.offer(frame);
            return !overflowed;
        }

        /** @return what has come, in order; empty after so long without anything */
        List<KvEventBatch> take(long timeoutNanos) throws InterruptedException {
            List<byte[]> taken = new ArrayList<>();
            byte[] first = frames.poll(timeoutNanos, TimeUnit.NANOSECONDS);
            if (overflowed) {
                throw new RedisException(KvEventStream.MAX_QUEUED_FRAMES + " batches wait, Redis is too slow for them");
            }
            if (first != null) {
                taken.add(first);
                frames.drainTo(taken, MAX_FRAMES_UNDER_WAY - 1);
            }
            return taken.stream().map(frame -> KvEventCodec.decode(
                    Arrays.copyOfRange(frame, EventFrames.HEADER_BYTES, frame.length))).toList();
        }
    }
}
