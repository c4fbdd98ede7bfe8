package dev.warmpath.router.fleetlink.log;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.metrics.RouterMetrics;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * The log of block changes in Redis, between those who read it and those who follow a worker: how fresh its streams are
 * here, and an inbox for every worker that is followed. Without Redis no stream is ever fresh.
 */
public final class EventLog {

    private final List<LogStream> streams;
    /** Of workers that write to another number of streams: never fresh. */
    private final LogStream unread;
    private final Map<Life, LogInbox> inboxes = new ConcurrentHashMap<>();

    /** One life of one worker. */
    private record Life(String workerId, long epoch) {}

    /**
     * @param awaited     whether there is a Redis to read from
     * @param streamCount the fleet's, as this router is set
     */
    public EventLog(boolean awaited, int streamCount, LongSupplier nanoTime) {
        this.streams = IntStream.range(0, streamCount)
                .mapToObj(index -> new LogStream(index, awaited, nanoTime)).toList();
        this.unread = new LogStream(-1, /* awaited */ false, nanoTime);
    }

    /**
     * One for all streams, or in a cluster, whose servers share them out, one for each.
     *
     * @param newcomers   are to be followed: they were found by their lease and joined the fleet
     * @param readersTime a monotonic clock
     */
    public List<LogReader> readers(RedisLink redis, Fleet fleet, Consumer<FleetWorker> newcomers, FleetToken token,
            JsonMapper json, RouterMetrics metrics, LongSupplier readersTime, RandomGenerator random) {
        var leaseHolders = new LeaseHolders(fleet, newcomers, this, metrics, token, json);
        List<List<LogStream>> shares = redis.isCluster() ? streams.stream().map(List::of).toList() : List.of(streams);
        return shares.stream()
                .map(share -> new LogReader(redis, this, share, leaseHolders, metrics, readersTime, random)).toList();
    }

    /** By place in {@link RedisLayout}. */
    List<LogStream> streams() {
        return streams;
    }

    /** Which of the streams has that worker's batches, if it spreads workers as this router is set. */
    LogStream streamOf(String workerId) {
        return streams.get(RedisLayout.streamOf(workerId, streams.size()));
    }

    /**
     * From now on batches of this worker are kept for its follower; none of one that spreads workers over another
     * number of streams, who is followed directly.
     */
    public LogInbox open(FleetWorker worker) {
        if (worker.eventStreams() != 0 && worker.eventStreams() != streams.size()) {
            worker.isNotInLog("it writes to one of " + worker.eventStreams() + " streams in Redis, this router reads "
                    + streams.size() + ": set warmpath.redis.event-streams alike on all routers and workers");
            return new LogInbox(unread);
        }
        var inbox = new LogInbox(streamOf(worker.id()));
        inboxes.put(new Life(worker.id(), worker.epoch()), inbox);
        return inbox;
    }

    /** @param inbox as opened: the same life may have come back and have another one by now */
    public void close(FleetWorker worker, LogInbox inbox) {
        inboxes.remove(new Life(worker.id(), worker.epoch()), inbox);
    }

    /** Where batches of that life go, or null if nobody follows it. */
    public @Nullable LogInbox inbox(String workerId, long epoch) {
        return inboxes.get(new Life(workerId, epoch));
    }

    /** 1 = all of it is known here up to now. */
    public double freshShare() {
        return (double) streams.stream().filter(LogStream::isFresh).count() / streams.size();
    }
}
