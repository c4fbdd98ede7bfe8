package dev.warmpath.router.fleetlink.log;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.router.fleet.RegistrationCheck;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.RedisException;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What workers have written to Redis, as Java values. Every call is a command or two and may throw a RedisException. */
public final class RedisContents {

    private static final Logger log = LoggerFactory.getLogger(RedisContents.class);

    /** Of {@link Long#MAX_VALUE}. */
    private static final int MAX_EPOCH_DIGITS = 19;

    private final RedisClusterCommands<String, byte[]> commands;

    public RedisContents(RedisClusterCommands<String, byte[]> commands) {
        this.commands = commands;
    }

    /**
     * Ids to epochs, in order of ids; living workers and such as left without a word. What no worker wrote is left out.
     *
     * @throws RedisException also if there are more than {@link RedisLayout#MOST_LISTED}
     */
    public Map<String, Long> workers() {
        long listed = commands.hlen(RedisLayout.WORKERS);
            if (listed > RedisLayout.MOST_LISTED) {
            throw new RedisException(RedisLayout.WORKERS + " has " + listed + " lines, at most " + RedisLayout.MOST_LISTED
                    + " are read: look who else writes there and delete the key, workers write their own lines again "
                    + "within a second");
        }
        Map<String, Long> workers = new TreeMap<>();
        Map<String, byte[]> rows = commands.hgetall(RedisLayout.WORKERS);
            rows.forEach((id, epoch) -> {
            if (RegistrationCheck.isWorkerId(id) && epoch.length <= MAX_EPOCH_DIGITS) {
                try {
                    workers.put(id, Long.parseLong(new String(epoch, StandardCharsets.UTF_8)));
                } catch (NumberFormatException e) {
                    // counted below
                }
            }
        });
            if (workers.size() < rows.size()) {
            log.warn("{} of {} lines of {} in Redis are no worker's id and epoch: who else writes there?",
                    rows.size() - workers.size(), rows.size(), RedisLayout.WORKERS);
        }
        return workers;
    }

    /** The registration as sealed by its worker, or null if that life has ended. */
    public @Nullable String lease(String workerId, long epoch) {
        byte[] value = commands.get(RedisLayout.lease(workerId, epoch));
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    /** Bytes; 0 if there is none. */
    public long checkpointLength(String workerId) {
        return commands.strlen(RedisLayout.checkpoint(workerId));
    }

    /** As in Redis, or null. */
    public byte @Nullable [] checkpointBytes(String workerId) {
        return commands.get(RedisLayout.checkpoint(workerId));
    }

    /** @throws EventFormatException if something else is there */
    public @Nullable Checkpoint checkpoint(String workerId) {
        byte[] value = checkpointBytes(workerId);
        return value == null ? null : Checkpoint.decode(value);
    }

    /** The last entry's place; {@link StreamId#ZERO} if there is none. */
    public StreamId end(int stream) {
        List<StreamMessage<String, byte[]>> last =
                commands.xrevrange(RedisLayout.stream(stream), Range.unbounded(), Limit.from(1));
        return last.isEmpty() ? StreamId.ZERO : StreamId.parse(last.getFirst().getId());
    }

    /** Entries behind that place, as many as {@code count} at most. */
    public List<StreamMessage<String, byte[]>> entriesAfter(int stream, StreamId place, int count) {
        Range<String> behind = Range.from(Range.Boundary.excluding(place.toString()), Range.Boundary.unbounded());
        return commands.xrange(RedisLayout.stream(stream), behind, Limit.from(count));
    }
}
