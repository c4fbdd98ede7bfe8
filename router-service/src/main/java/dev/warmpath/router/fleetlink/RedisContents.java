package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What workers have written to Redis, as Java values. Every call is one command and may throw a RedisException. */
final class RedisContents {

    private static final Logger log = LoggerFactory.getLogger(RedisContents.class);

    private final RedisClusterCommands<String, byte[]> commands;

    RedisContents(RedisClusterCommands<String, byte[]> commands) {
        this.commands = commands;
    }

    /** Ids to epochs, in order of ids; living workers and such as left without a word. */
    Map<String, Long> workers() {
        Map<String, Long> workers = new TreeMap<>();
        commands.hgetall(RedisLayout.WORKERS).forEach((id, epoch) -> {
            String text = new String(epoch, StandardCharsets.UTF_8);
            try {
                workers.put(id, Long.parseLong(text));
            } catch (NumberFormatException e) {
                log.warn("{} in Redis has '{}' for worker {}, which is no epoch", RedisLayout.WORKERS, text, id);
            }
        });
        return workers;
    }

    /** The registration as sealed by its worker, or null if that life has ended. */
    @Nullable String lease(String workerId, long epoch) {
        byte[] value = commands.get(RedisLayout.lease(workerId, epoch));
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    /** As in Redis, or null. */
    byte @Nullable [] checkpointBytes(String workerId) {
        return commands.get(RedisLayout.checkpoint(workerId));
    }

    /** @throws EventFormatException if something else is there */
    @Nullable Checkpoint checkpoint(String workerId) {
        byte[] value = checkpointBytes(workerId);
        return value == null ? null : Checkpoint.decode(value);
    }

    /** The last entry's place; {@link StreamId#ZERO} if there is none. */
    StreamId end(int stream) {
        List<StreamMessage<String, byte[]>> last =
                commands.xrevrange(RedisLayout.stream(stream), Range.unbounded(), Limit.from(1));
        return last.isEmpty() ? StreamId.ZERO : StreamId.parse(last.getFirst().getId());
    }

    /** Entries behind that place, as many as {@code count} at most. */
    List<StreamMessage<String, byte[]>> entriesAfter(int stream, StreamId place, int count) {
        Range<String> behind = Range.from(Range.Boundary.excluding(place.toString()), Range.Boundary.unbounded());
        return commands.xrange(RedisLayout.stream(stream), behind, Limit.from(count));
    }
}
