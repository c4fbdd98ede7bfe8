package dev.warmpath.router.metrics;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;

/**
 * How many workers each model has. One that has lost its last worker is told as 0 for an hour, so that somebody is
 * alerted; then it counts as given up.
 */
final class ServedMeters {

    private static final int TICKS_OF_NONE = 3_600;

    private final RouterMetrics metrics;
    private final MeterRegistry registry;
    private final Map<String, Model> models = new HashMap<>();

    ServedMeters(RouterMetrics metrics, MeterRegistry registry) {
        this.metrics = metrics;
        this.registry = registry;
    }

    /** @param ready of every model that a worker may be asked for, above 0 */
    synchronized void see(Map<String, Integer> ready) {
        ready.keySet().stream().filter(model -> !models.containsKey(model))
                .limit(RouterMetrics.MAX_SERIES - models.size()).toList()
                .forEach(model -> models.put(model, new Model(model)));
        models.forEach((name, model) -> model.has(ready.getOrDefault(name, 0)));
        models.values().removeIf(model -> {
            if (model.ticksOfNone > TICKS_OF_NONE) {
                registry.remove(model.gauge);
            }
            return model.ticksOfNone > TICKS_OF_NONE;
        });
    }

    private final class Model {

        private final Gauge gauge;
        private volatile int workers;
        private int ticksOfNone;

        Model(String name) {
            this.gauge = metrics.watch(RouterMeter.READY_WORKERS, () -> workers, "model", name);
        }

        void has(int ready) {
            workers = ready;
            ticksOfNone = ready > 0 ? 0 : ticksOfNone + 1;
        }
    }
}
