package dev.warmpath.worker.routerlink;

import dev.warmpath.redislink.RedisLink;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Shows how announcing to Redis goes. Always up: a worker serves as well without, routers then read its stream. */
public final class RedisHealth implements HealthIndicator {

    private final RedisLink redis;
    private final RedisAnnouncer announcer;

    public RedisHealth(RedisLink redis, RedisAnnouncer announcer) {
        this.redis = redis;
        this.announcer = announcer;
    }

    @Override
    public Health health() {
        Health.Builder health = Health.up().withDetail("server", redis.describe());
        String problem = announcer.status().problem();
        return (problem == null ? health : health.withDetail("degraded", problem)).build();
    }
}
