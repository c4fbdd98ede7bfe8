package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.router.fleet.FleetWorker;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The log of block changes in Redis, between those who read it and those who follow a worker: how fresh its streams are
 * here, and an inbox for every worker that is followed. Without Redis no stream is ever fresh.
 */
final class EventLog {

    private final List<LogStream> streams;
    private final Map<Life, LogInbox> inboxes = new ConcurrentHashMap<>();

    /** One life of one worker. */
    private record Life(String workerId, long epoch) {}

    /** @param awaited whether there is a Redis to read from */
    EventLog(boolean awaited, LongSupplier nanoTime) {
        this.streams = IntStream.range(0, RedisLayout.STREAM_COUNT)
                .mapToObj(index -> new LogStream(index, awaited, nanoTime)).toList();
    }

    /** By place in {@link RedisLayout}. */
    List<LogStream> streams() {
        return streams;
    }

    /** From now on batches of this worker are kept for its follower. */
    LogInbox open(FleetWorker worker) {
        var inbox = new LogInbox(streams.get(RedisLayout.streamOf(worker.id())));
        inboxes.put(new Life(worker.id(), worker.epoch()), inbox);
        return inbox;
    }

    /** @param inbox as opened: the same life may have come back and have another one by now */
    void close(FleetWorker worker, LogInbox inbox) {
        inboxes.remove(new Life(worker.id(), worker.epoch()), inbox);
    }

    /** Where batches of that life go, or null if nobody follows it. */
    @Nullable LogInbox inbox(String workerId, long epoch) {
        return inboxes.get(new Life(workerId, epoch));
    }

    /** 1 = all of it is known here up to now. */
    double freshShare() {
        return (double) streams.stream().filter(LogStream::isFresh).count() / streams.size();
    }
}
