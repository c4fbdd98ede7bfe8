package dev.warmpath.router.fleet;

import dev.warmpath.router.health.HealthState;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.stereotype.Component;

/**
 * What is not well with the workers and what is known of them. Always up: a router that is taken out for it helps
 * nobody, since the others see the same workers.
 */
@Component("workers")
final class FleetHealth implements HealthIndicator {

    private final Fleet fleet;

    FleetHealth(Fleet fleet) {
        this.fleet = fleet;
    }

    @Override
    public Health health() {
        List<FleetWorker> everyone = fleet.everyone();
        List<String> degraded = new ArrayList<>();
        add(degraded, fleet.ofHealth(HealthState.UNREACHABLE), "answer nothing that this router asks");
        add(degraded, fleet.ofHealth(HealthState.EJECTED), "get no requests, for what their answers have shown");
        add(degraded, fleet.ofHealth(HealthState.ON_TRIAL), "get a request now and then, to see whether they are well");
        add(degraded, everyone.stream().filter(FleetWorker::isHanging).count(), "hang in a step");
        add(degraded, fleet.notFollowed(), "cannot be followed");
        add(degraded, fleet.ofGrade(IndexGrade.HISTORY) + fleet.ofGrade(IndexGrade.LOAD),
                "are ahead of the index for longer than 2 s");
        Health.Builder health = Health.up().withDetail("count", everyone.size());
        return (degraded.isEmpty() ? health : health.withDetail("degraded", degraded)).build();
    }

    private static void add(List<String> degraded, long workers, String why) {
        if (workers > 0) {
            degraded.add(workers + " of the workers " + why);
        }
    }
}
