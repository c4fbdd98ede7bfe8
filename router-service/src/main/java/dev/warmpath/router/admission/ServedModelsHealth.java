package dev.warmpath.router.admission;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.models.ServedModel;
import java.util.List;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.stereotype.Component;

/** Readiness: a router without a model that it can serve should get no traffic, unless its operator wants it to. */
@Component("servedModels")
public final class ServedModelsHealth implements HealthIndicator {

    private final Fleet fleet;
    private final boolean requireModel;

    ServedModelsHealth(Fleet fleet, ReadinessProperties properties) {
        this.fleet = fleet;
        this.requireModel = properties.requireModel();
    }

    /** False while balancers should send nothing here. */
    public boolean isReady() {
        return !requireModel || !fleet.models().isEmpty();
    }

    @Override
    public Health health() {
        List<String> names = fleet.models().stream().map(ServedModel::name).distinct().sorted().toList();
        if (!names.isEmpty()) {
            return Health.up().withDetail("models", names).build();
        }
        return requireModel
                ? Health.outOfService().withDetail("models", "none has a ready worker").build()
                : Health.up().withDetail("degraded", "no model has a ready worker").build();
    }
}
