package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.redislink.TestRedis;
import io.lettuce.core.XAddArgs;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Writes to Redis what a test wants a worker to have written there. */
public final class LogWriter {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final TestRedis redis;
    private final FakeWorker worker;
    private final FleetToken token;
    private String lastId = StreamId.ZERO.toString();

    public LogWriter(TestRedis redis, FakeWorker worker, FleetToken token) {
        this.redis = redis;
        this.worker = worker;
        this.token = token;
    }

    /** Lease, entry among the workers, checkpoint. */
    public LogWriter introduce() {
        Registration registration = worker.registration();
        lease(registration.epoch(), token.seal(JSON.writeValueAsString(registration)));
        redis.commands().hset(RedisLayout.WORKERS, id(), bytes(Long.toString(registration.epoch())));
        return checkpoint();
    }

    public void lease(long epoch, String value) {
        redis.commands().set(RedisLayout.lease(id(), epoch), bytes(value));
    }

    public LogWriter checkpoint() {
        redis.commands().set(RedisLayout.checkpoint(id()), new Checkpoint(lastId, worker.snapshot()).encode());
        return this;
    }

    /** The worker's next batch, in the log. */
    public void announce(long... keys) {
        append(worker.next(keys));
    }

    public void append(KvEventBatch batch) {
        lastId = redis.commands().xadd(stream(), body(KvEventCodec.encode(batch)));
    }

    public void append(KvEventBatch batch, String id) {
        lastId = redis.commands().xadd(stream(), new XAddArgs().id(id), body(KvEventCodec.encode(batch)));
    }

    public void appendBytes(byte... value) {
        redis.commands().xadd(stream(), body(value));
    }

    public String stream() {
        return RedisLayout.stream(RedisLayout.streamOf(id(), worker.streamCount()));
    }

    private String id() {
        return worker.registration().workerId();
    }

    private static Map<String, byte[]> body(byte[] batch) {
        return Map.of(RedisLayout.BATCH_FIELD, batch);
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
