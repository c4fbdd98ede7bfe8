package dev.warmpath.router.keys;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Whether the keys are those of the file. Always up: a router that is taken out for it lets nobody in, either. */
final class KeyHealth implements HealthIndicator {

    private final ApiKeys keys;
    private final KeyFileWatch watch;

    KeyHealth(ApiKeys keys, KeyFileWatch watch) {
        this.keys = keys;
        this.watch = watch;
    }

    @Override
    public Health health() {
        Health.Builder health = Health.up().withDetail("count", keys.count());
        @Nullable String problem = watch.problem();
        if (problem != null) {
            health.withDetail("degraded", "the file of keys cannot be used: " + problem);
        } else if (keys.count() == 0) {
            health.withDetail("degraded", "the file of keys has none: nobody may use the API");
        }
        return health.build();
    }
}
