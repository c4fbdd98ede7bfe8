package dev.warmpath.router.fleetlink.log;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.redislink.BlockingReads;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.router.metrics.RouterMetrics;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandInterruptedException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.function.BinaryOperator;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads event streams in Redis and puts each batch into its worker's inbox; never waits for anybody but Redis. One
 * thread and one connection for all streams, or in a cluster, whose servers share them out, one for each.
 *
 * <p>Begins with the streams' ends, then leases and checkpoints, then whatever was appended since the oldest of these:
 * what a checkpoint lacks stands behind it. After an interruption it goes on where it was; if that took longer than
 * {@link LogStream#LONGEST_SILENCE}, leases and checkpoints are looked at again.
 */
public final class LogReader {

    private static final Logger log = LoggerFactory.getLogger(LogReader.class);
    private static final Duration LONGEST_BLOCK = Duration.ofMillis(500);
    private static final int MAX_ENTRIES_PER_STREAM = 256;
    private static final Duration END_CHECK_INTERVAL = Duration.ofSeconds(2);
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

    private final RedisLink redis;
    private final EventLog events;
    private final List<LogStream> streams;
    private final LeaseHolders leaseHolders;
    private final RouterMetrics metrics;
    private final LongSupplier nanoTime;
    private final Backoff backoff;
    /** The last entry that was read, by stream name. */
    private final Map<String, StreamId> places = new LinkedHashMap<>();
    private int entriesAtOnce = MAX_ENTRIES_PER_STREAM;
    private long endsCheckedNanos;
    private boolean saidUnreadable;

    /** @param streams of {@code events}; this reader's share */
    LogReader(RedisLink redis, EventLog events, List<LogStream> streams, LeaseHolders leaseHolders,
            RouterMetrics metrics, LongSupplier nanoTime, RandomGenerator random) {
        this.redis = redis;
        this.events = events;
        this.streams = streams;
        this.leaseHolders = leaseHolders;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        this.backoff = new Backoff(SHORTEST_PAUSE, LONGEST_PAUSE, random);
    }

    /** For its thread. */
    public String name() {
        return "redis-log-" + streams.getFirst().index();
    }

    /** Until it is interrupted. */
    public void run() throws InterruptedException {
        while (true) {
            try (BlockingReads reads = redis.openReads(LONGEST_BLOCK)) {
                start(new RedisContents(reads.commands()));
                while (true) {
                    readOn(reads.commands());
                    backoff.reset();
                }
            } catch (RedisCommandInterruptedException e) {
                throw new InterruptedException("closed while reading events");
            } catch (RedisConnectionException e) {
                interrupted(e.getMessage());                       // the link's own sentence
            } catch (RedisException | CancellationException | EventFormatException e) {
                entriesAtOnce = Math.max(1, entriesAtOnce / 2);    // perhaps it was more than the link takes
                interrupted(redis.messageOf(e));                   // cancelled: under way when the connection broke
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                log.error("reading events from Redis failed in the router", e);
                interrupted(redis.messageOf(e));
            }
            Thread.sleep(backoff.next());
        }
    }

    private void start(RedisContents contents) {
        if (streams.stream().allMatch(LogStream::isFresh)) {
            goBackToEnds(contents);
            return;
        }
        streams.forEach(LogStream::starting);
        streams.forEach(stream -> continueFrom(stream.index(), contents.end(stream.index())));
        contents.workers().forEach((workerId, epoch) -> {
            LogStream stream = events.streamOf(workerId);
            if (streams.contains(stream)) {
                StreamId continuation = admit(contents, workerId, epoch);
                if (continuation != null) {
                    continueFrom(stream.index(), continuation);
                    streams.forEach(LogStream::progressed);        // not for lines of the dead: nobody waits for these
                }
            }
        });
        streams.forEach(LogStream::started);
        log.info("events are read from Redis at {}", redis.describe());
    }

    /** A worker whose keys Redis refuses to hand out is left to its own registration, and hinders nobody else. */
    private @Nullable StreamId admit(RedisContents contents, String workerId, long epoch) {
        try {
            return leaseHolders.admit(contents, workerId, epoch, redis.maxAnswerBytes());
        } catch (RedisCommandExecutionException e) {
            log.warn("worker {} epoch {} cannot be read from Redis: {}", workerId, epoch, redis.messageOf(e));
            return null;
        }
    }

    /** From there, or from where reading was if that is before. */
    private void continueFrom(int stream, StreamId place) {
        places.merge(RedisLayout.stream(stream), place, BinaryOperator.minBy(Comparator.naturalOrder()));
    }

    private void readOn(RedisClusterCommands<String, byte[]> commands) throws InterruptedException {
        XReadArgs limits = XReadArgs.Builder.block(LONGEST_BLOCK).count(entriesAtOnce);
        long asked = nanoTime.getAsLong();
        List<StreamMessage<String, byte[]>> entries = commands.xread(limits, offsets());
        streams.forEach(LogStream::answered);
        entriesAtOnce = Math.min(2 * entriesAtOnce, MAX_ENTRIES_PER_STREAM);
        if (entries.isEmpty() && nanoTime.getAsLong() - asked < LONGEST_BLOCK.toNanos() / 2) {
            Thread.sleep(SHORTEST_PAUSE);                          // whoever answers there does not wait as he is asked to
        }
        for (StreamMessage<String, byte[]> entry : entries) {
            places.replace(entry.getStream(), StreamId.parse(entry.getId()));
            handOut(entry);
        }
        if (nanoTime.getAsLong() - endsCheckedNanos > END_CHECK_INTERVAL.toNanos()) {
            goBackToEnds(new RedisContents(commands));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})                   // the library asks for an array of a generic type
    private StreamOffset<String>[] offsets() {
        return places.entrySet().stream().map(place -> StreamOffset.from(place.getKey(), place.getValue().toString()))
                .toArray(StreamOffset[]::new);
    }

    private void handOut(StreamMessage<String, byte[]> entry) {
        byte[] encoded = entry.getBody() == null ? null : entry.getBody().get(RedisLayout.BATCH_FIELD);
        try {
            if (encoded == null) {
                throw new EventFormatException("it has no field " + RedisLayout.BATCH_FIELD);
            }
            KvEventBatch batch = KvEventCodec.decode(encoded);
            LogInbox inbox = events.inbox(batch.workerId(), batch.epoch());
            if (inbox != null && !batch.snapshot()) {
                inbox.put(batch);
            }
        } catch (EventFormatException e) {
            metrics.batchRejected();
            if (!saidUnreadable) {
                saidUnreadable = true;
                log.warn("entry {} of {} in Redis cannot be read, nor perhaps others: {}", entry.getId(),
                        entry.getStream(), e.getMessage());
            }
        }
    }

    /** A stream that was emptied, or whose last entries a failover has lost, goes on below the place that was read. */
    private void goBackToEnds(RedisContents contents) {
        for (LogStream stream : streams) {
            String name = RedisLayout.stream(stream.index());
            StreamId place = places.getOrDefault(name, StreamId.ZERO);
            StreamId end = contents.end(stream.index());
            if (end.compareTo(place) < 0) {
                log.info("{} in Redis ends at {}, it was read up to {} before", name, end, place);
                places.put(name, end);
            }
        }
        endsCheckedNanos = nanoTime.getAsLong();
    }

    private void interrupted(String why) {
        if (streams.stream().allMatch(stream -> stream.problem() == null)) {
            log.warn("events are not read from Redis at {}: {}", redis.describe(), why);
        }
        streams.forEach(stream -> stream.failed(why));
    }
}
