package dev.warmpath.router.admission;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.models.ServedModel;
import java.util.List;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.stereotype.Component;

/** Readiness: a router without a model that it can serve should get no traffic. */
@Component("servedModels")
final class ServedModelsHealth implements HealthIndicator {

    private final Fleet fleet;

    ServedModelsHealth(Fleet fleet) {
        this.fleet = fleet;
    }

    @Override
    public Health health() {
        List<String> names = fleet.models().stream().map(ServedModel::name).distinct().sorted().toList();
        return names.isEmpty()
                ? Health.outOfService().withDetail("models", "none has a ready worker").build()
                : Health.up().withDetail("models", names).build();
    }
}
