package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.SetArgs;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XAddArgs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One worker's batches in its stream, and its checkpoint, from one subscription to the publisher on.
 *
 * <p>When is a checkpoint old? When reading it and everything after costs much more than reading a new one (changes by
 * a quarter of the pool and 4,096 at least, or a cleared cache), when the entries after it are about to be trimmed,
 * when it is gone, or after a minute with any change. How near the trimmed end is, the times inside stream ids tell,
 * which are Redis's own: a checkpoint nearer to the stream's oldest entry than to this worker's last one is renewed.
 *
 * <p>Every method waits for Redis and throws what Lettuce throws; the object is then of no more use. Not safe for
 * several threads.
 */
final class RedisLog {

    /** A stream, or the table of ids, whose last worker has gone goes, too. */
    static final Duration STREAM_LIFE = Duration.ofMinutes(10);
    private static final Duration BETWEEN_MARKS = Duration.ofSeconds(5);
    private static final Duration OLDEST_CHECKPOINT = Duration.ofSeconds(60);
    private static final int FEW_CHANGES = 4096;
    /** What a reader would load before it is void. */
    private static final BlockChange CLEARED = new BlockChange.Cleared();
    private static final Range<String> ALL = Range.unbounded();

    private final RedisLink redis;
    private final String workerId;
    private final int streamLength;
    private final int manyChanges;
    private final long timeoutNanos;
    private final String stream;
    private StreamId last;
    private @Nullable KvEventBatch lastBatch;
    private long lastNanos;
    private StreamId checkpoint = StreamId.ZERO;
    private long checkpointNanos;
    private int changedKeys;
    private boolean streamExpires;

    /** Reads where the stream ends: everything in it is in the snapshot that comes next. */
    RedisLog(RedisLink redis, RedisProperties properties, String workerId, int blockCount) {
        this.redis = redis;
        this.workerId = workerId;
        this.streamLength = properties.streamLength();
        this.manyChanges = Math.max(FEW_CHANGES, blockCount / 4);
        this.timeoutNanos = properties.commandTimeout().toNanos();
        this.stream = RedisLayout.stream(RedisLayout.streamOf(workerId, properties.eventStreams()));
        this.last = idOf(redis.commands().xrevrange(stream, ALL, Limit.from(1)));
    }

    /** Appends batches in order, all on their way at once. */
    void append(List<KvEventBatch> batches, long nowNanos) {
        if (batches.isEmpty()) {
            return;
        }
        XAddArgs trimmed = XAddArgs.Builder.maxlen(streamLength).approximateTrimming();
        List<RedisFuture<String>> ids = new ArrayList<>(batches.size());
        for (KvEventBatch batch : batches) {
            ids.add(redis.async().xadd(stream, trimmed, Map.of(RedisLayout.BATCH_FIELD, KvEventCodec.encode(batch))));
            changedKeys += batch.changes().contains(CLEARED) ? manyChanges : batch.keyCount();
        }
        if (!streamExpires) {                                      // it may not have been there before
            redis.async().pexpire(stream, STREAM_LIFE);
            streamExpires = true;
        }
        for (RedisFuture<String> id : ids) {
            last = StreamId.parse(LettuceFutures.awaitOrCancel(id, timeoutNanos, TimeUnit.NANOSECONDS));
        }
        lastBatch = batches.getLast();
        lastNanos = nowNanos;
    }

    /** @param snapshot with every appended batch inside, and none that is still to be appended */
    void checkpoint(KvEventBatch snapshot, long nowNanos) {
        redis.commands().set(RedisLayout.checkpoint(workerId), new Checkpoint(last.toString(), snapshot).encode(),
                SetArgs.Builder.px(RedisLayout.CHECKPOINT_LIFE));
        checkpoint = last;
        checkpointNanos = nowNanos;
        changedKeys = 0;
        if (lastBatch == null) {
            append(List.of(snapshot.mark()), nowNanos);            // readers see that the log carries this worker again
        }
    }

    /** Lets stream and checkpoint live on, and marks an idle worker's place. @return true if a new checkpoint is due */
    boolean keep(long nowNanos) {
        if (lastBatch != null && nowNanos - lastNanos >= BETWEEN_MARKS.toNanos()) {
            append(List.of(lastBatch.mark()), nowNanos);
        }
        redis.commands().pexpire(stream, STREAM_LIFE);
        boolean there = redis.commands().pexpire(RedisLayout.checkpoint(workerId), RedisLayout.CHECKPOINT_LIFE);
        return !there || changedKeys >= manyChanges || changedKeys > 0
                && (nowNanos - checkpointNanos >= OLDEST_CHECKPOINT.toNanos() || isSoonTrimmed());
    }

    private boolean isSoonTrimmed() {
        if (redis.commands().xlen(stream) < streamLength / 2) {
            return false;
        }
        long oldest = idOf(redis.commands().xrange(stream, ALL, Limit.from(1))).millis();
        return checkpoint.millis() - oldest < last.millis() - checkpoint.millis();
    }

    private static StreamId idOf(List<StreamMessage<String, byte[]>> entries) {
        return entries.isEmpty() ? StreamId.ZERO : StreamId.parse(entries.getFirst().getId());
    }
}
