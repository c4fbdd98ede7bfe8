package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.RedisLink;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This worker's name in Redis: the lease that says it lives, and its line in the table of ids. Two processes may claim
 * one id, after a restart or by a mistake: the greater epoch has it as long as its lease lives, and the other one
 * writes nothing. Both look every second, so for about that long both may write; readers tell them apart by the epoch.
 *
 * <p>Every method waits for Redis and throws what Lettuce throws.
 */
final class WorkerLease {

    private static final Logger log = LoggerFactory.getLogger(WorkerLease.class);

    /** After so many, who lost the id to this worker has seen it, and overwrites its checkpoint no more. */
    private static final int TURNS_OF_OVERLAP = 3;
    /** Of striking out; two commands each, one after the other, and as long again for the last one. */
    private static final Duration LONGEST_CLEANING = Duration.ofMillis(200);

    private final RedisLink redis;
    private final String workerId;
    private final long epoch;
    private final byte[] sealedRegistration;
    private final LongSupplier nanoTime;
    private int turnsOfOverlap;
    private boolean tooLong;

    /** @param nanoTime monotonic, in nanoseconds */
    WorkerLease(RedisLink redis, String workerId, long epoch, String sealedRegistration, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
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
        long deadline = nanoTime.getAsLong() + LONGEST_CLEANING.toNanos();
        if (isTooLong(redis.commands().hlen(RedisLayout.WORKERS))) {
            return false;
        }
        var all = new TreeMap<>(redis.commands().hgetall(RedisLayout.WORKERS));
        var behind = new LinkedHashMap<>(all.tailMap(workerId, false));
        behind.putAll(all.headMap(workerId, false));
        for (Map.Entry<String, byte[]> listed : behind.entrySet()) {
            Long itsEpoch = epochOf(listed.getValue());
            if (itsEpoch != null && isAlive(listed.getKey(), itsEpoch)) {
                return false;
            }
            if (nanoTime.getAsLong() - deadline > 0) {
                return true;
            }
            redis.commands().hdel(RedisLayout.WORKERS, listed.getKey());
        }
        return false;
    }

    /** Then whoever reads it all has too much to do, and no worker has written it. */
    private boolean isTooLong(long listed) {
        boolean was = tooLong;
        tooLong = listed > RedisLayout.MOST_LISTED;
        if (tooLong && !was) {
            log.warn("{} in Redis has {} lines, and none of the dead is struck out as long as there are more than {}: look "
                    + "who else writes there and delete the key, workers write their own lines again within a second",
                    RedisLayout.WORKERS, listed, RedisLayout.MOST_LISTED);
        }
        return tooLong;
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
