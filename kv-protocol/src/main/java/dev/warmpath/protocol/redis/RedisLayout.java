package dev.warmpath.protocol.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.zip.CRC32;

/** Names and lifetimes of what lies in Redis. Nothing that a client wrote is ever part of a key. */
public final class RedisLayout {

    /** Unless a fleet has another number of streams: enough to spread over the shards of a small cluster. */
    public static final int DEFAULT_STREAM_COUNT = 8;

    /** In a cluster a router has a connection and a thread for each. */
    public static final int MAX_STREAM_COUNT = 64;

    /** The only field of a stream entry: one batch as of {@code KvEventCodec}. */
    public static final String BATCH_FIELD = "b";

    /** A hash: worker id → epoch, decimal. */
    public static final String WORKERS = "warmpath:workers";

    /** Lines of {@link #WORKERS} that are read at all; a fleet has a thousand or so. */
    public static final int MOST_LISTED = 65_536;

    /** A worker that has not renewed its lease for this long is gone. It renews every second. */
    public static final Duration LEASE = Duration.ofSeconds(5);

    /** A checkpoint outlives its worker by this much: long enough for a worker that was only cut off. */
    public static final Duration CHECKPOINT_LIFE = Duration.ofSeconds(60);

    private static final String STREAM_PREFIX = "warmpath:events:";
    private static final String CHECKPOINT_PREFIX = "warmpath:checkpoint:";
    private static final String LEASE_PREFIX = "warmpath:lease:";

    private RedisLayout() {}

    /** @param index 0 to the fleet's number of streams less one */
    public static String stream(int index) {
        return STREAM_PREFIX + index;
    }

    /**
     * Which stream has the worker's batches: CRC-32 of the id in UTF-8, modulo the number of streams.
     *
     * @param streamCount of the fleet, 1 to {@link #MAX_STREAM_COUNT}
     */
    public static int streamOf(String workerId, int streamCount) {
        var crc = new CRC32();
        crc.update(workerId.getBytes(StandardCharsets.UTF_8));
        return (int) (crc.getValue() % streamCount);
    }

    public static String checkpoint(String workerId) {
        return CHECKPOINT_PREFIX + workerId;
    }

    /** An id may hold colons: the epoch is what follows the last one. */
    public static String lease(String workerId, long epoch) {
        return LEASE_PREFIX + workerId + ":" + epoch;
    }
}
