package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.RedisLink;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * This worker's name in Redis: the lease that says it lives, and its line in the table of ids. Two processes may claim
 * one id, after a restart or by a mistake: the greater epoch has it as long as its lease lives, and the other one
 * writes nothing. Both look every second, so for about that long both may write; readers tell them apart by the epoch.
 *
 * <p>Every method waits for Redis and throws what Lettuce throws.
 */
final class WorkerLease {

    /** After so many, who lost the id to this worker has seen it, and overwrites its checkpoint no more. */
    private static final int TURNS_OF_OVERLAP = 3;
    /** Two commands each, one after the other: a fifth of a second at a millisecond each. */
    private static final int MOST_AT_ONCE = 100;

    private final RedisLink redis;
    private final String workerId;
    private final long epoch;
    private final byte[] sealedRegistration;
    private int turnsOfOverlap;

    WorkerLease(RedisLink redis, String workerId, long epoch, String sealedRegistration) {
        this.redis = redis;
        this.workerId = workerId;
        this.epoch = epoch;
        this.sealedRegistration = sealedRegistration.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Lives on, if the id is this worker's.
     *
     * @return null if it is; else the epoch of the newer worker that has it, and nothing was written
     */
    @Nullable Long renew() {
        Long listed = listedEpoch();
        if (listed != null && listed > epoch && isAlive(workerId, listed)) {
            return listed;
        }
        // the lease first: a listed epoch without one is taken for dead
        redis.commands().set(
                RedisLayout.lease(workerId, epoch), sealedRegistration, SetArgs.Builder.px(RedisLayout.LEASE));
        if (listed == null || listed != epoch) {
            if (listed != null) {
                turnsOfOverlap = TURNS_OF_OVERLAP;
            }
            redis.commands().hset(RedisLayout.WORKERS, workerId, Long.toString(epoch).getBytes(StandardCharsets.UTF_8));
        }
        redis.commands().pexpire(RedisLayout.WORKERS, RedisLog.STREAM_LIFE);
        return null;
    }

    /** To be asked every turn. True once, some turns after another process lost the id: it has seen that by now. */
    boolean overlapEnds() {
        return turnsOfOverlap > 0 && --turnsOfOverlap == 0;
    }

    /** Leaves nothing behind that is still this worker's. */
    void release() {
        RedisClusterCommands<String, byte[]> commands = redis.commands();
        commands.del(RedisLayout.lease(workerId, epoch));
        Long listed = listedEpoch();
        if (listed != null && listed == epoch) {
            commands.del(RedisLayout.checkpoint(workerId));
            commands.hdel(RedisLayout.WORKERS, workerId);
        }
    }

    /**
     * Strikes out workers that have crashed, as far as they are this worker's to look after: those behind it in the
     * order of ids, up to the next one that lives and looks after what is behind it. So each is asked for once, however
     * many workers there are. One that comes back between the look and the stroke lists itself again within a second.
     *
     * @return true if there are more than there is time for: this worker's own lease must not end meanwhile
     */
    boolean strikeOutTheDead() {
        int struck = 0;
        var all = new TreeMap<>(redis.commands().hgetall(RedisLayout.WORKERS));
        var behind = new LinkedHashMap<>(all.tailMap(workerId, false));
        behind.putAll(all.headMap(workerId, false));
        for (Map.Entry<String, byte[]> listed : behind.entrySet()) {
            Long itsEpoch = epochOf(listed.getValue());
            if (itsEpoch != null && isAlive(listed.getKey(), itsEpoch)) {
                return false;
            }
            if (struck++ == MOST_AT_ONCE) {
                return true;
            }
            redis.commands().hdel(RedisLayout.WORKERS, listed.getKey());
        }
        return false;
    }

    private @Nullable Long listedEpoch() {
        return epochOf(redis.commands().hget(RedisLayout.WORKERS, workerId));
    }

    private boolean isAlive(String id, long itsEpoch) {
        return redis.commands().exists(RedisLayout.lease(id, itsEpoch)) > 0;
    }

    /** Null also for what no worker wrote. */
    private static @Nullable Long epochOf(byte @Nullable [] listed) {
        try {
            return listed == null ? null : Long.valueOf(new String(listed, StandardCharsets.UTF_8));
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
