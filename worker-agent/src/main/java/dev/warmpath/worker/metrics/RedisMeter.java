package dev.warmpath.worker.metrics;

import dev.warmpath.worker.metrics.WorkerMeter.Kind;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import java.util.function.ToDoubleFunction;

/** The meters that a worker has more when it announces to Redis. */
enum RedisMeter {
    ANNOUNCING(Kind.GAUGE, "warmpath.redis.announcing",
            "1 while this worker's announcements reach Redis, 0 while they do not",
            now -> now.problem() == null ? 1 : 0),
    BATCHES(Kind.COUNTER, "warmpath.redis.batches", "Event batches written to the stream",
            RedisAnnouncer.Status::batches),
    CHECKPOINTS(Kind.COUNTER, "warmpath.redis.checkpoints", "Checkpoints written", RedisAnnouncer.Status::checkpoints),
    RESTARTS(Kind.COUNTER, "warmpath.redis.restarts",
            "How often writing broke off: Redis lost, full, read-only, or too slow for this worker",
            RedisAnnouncer.Status::restarts);

    final Kind kind;
    final String meterName;
    final String description;
    final ToDoubleFunction<RedisAnnouncer.Status> value;

    RedisMeter(Kind kind, String meterName, String description, ToDoubleFunction<RedisAnnouncer.Status> value) {
        this.kind = kind;
        this.meterName = meterName;
        this.description = description;
        this.value = value;
    }
}
