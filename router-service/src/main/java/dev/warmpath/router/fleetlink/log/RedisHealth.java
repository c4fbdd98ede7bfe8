package dev.warmpath.router.fleetlink.log;

import dev.warmpath.redislink.RedisLink;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import java.util.Objects;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Whether Redis is of use. Always up: a router without Redis follows its workers directly and serves as well. */
public final class RedisHealth implements HealthIndicator {

    private final RedisLink redis;
    private final EventLog events;
    private final Fleet fleet;

    public RedisHealth(RedisLink redis, EventLog events, Fleet fleet) {
        this.redis = redis;
        this.events = events;
        this.fleet = fleet;
    }

    @Override
    public Health health() {
        Health.Builder health = Health.up()
                .withDetail("server", redis.describe())
                .withDetail("followedByLog", fleet.followedBy(EventSource.LOG))
                .withDetail("followedDirectly", fleet.followedBy(EventSource.DIRECT));
        if (events.freshShare() < 1) {
            String why = events.streams().stream().map(LogStream::problem).filter(Objects::nonNull).findFirst()
                    .orElse("events are not read from Redis yet");
            health.withDetail("degraded", why);
        }
        return health.build();
    }
}
