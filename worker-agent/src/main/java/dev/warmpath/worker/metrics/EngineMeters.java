package dev.warmpath.worker.metrics;

import dev.warmpath.worker.OnOwnEngine;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineSnapshot;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/** Registers every {@link WorkerMeter} over the engine's latest snapshot. */
@OnOwnEngine
@Component
final class EngineMeters implements MeterBinder {

    private final Supplier<EngineSnapshot> engine;
    private final ServedModel model;

    @Autowired
    EngineMeters(Engine engine, ServedModel model) {
        this(engine::snapshot, model);
    }

    EngineMeters(Supplier<EngineSnapshot> engine, ServedModel model) {
        this.engine = engine;
        this.model = model;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (WorkerMeter meter : WorkerMeter.values()) {
            ToDoubleFunction<Supplier<EngineSnapshot>> value = now -> meter.value.applyAsDouble(now.get(), model);
            switch (meter.kind) {
                case GAUGE -> Gauge.builder(meter.meterName, engine, value).tags(meter.tags)
                        .description(meter.description).baseUnit(meter.unit).register(registry);
                case COUNTER -> FunctionCounter.builder(meter.meterName, engine, value).tags(meter.tags)
                        .description(meter.description).baseUnit(meter.unit).register(registry);
            }
        }
    }
}
