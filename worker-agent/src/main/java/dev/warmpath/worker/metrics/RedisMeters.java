package dev.warmpath.worker.metrics;

import dev.warmpath.worker.routerlink.RedisAnnouncer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** Registers every {@link RedisMeter} over the announcer's latest word. */
public final class RedisMeters implements MeterBinder {

    private final Supplier<RedisAnnouncer.Status> status;

    public RedisMeters(Supplier<RedisAnnouncer.Status> status) {
        this.status = status;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (RedisMeter meter : RedisMeter.values()) {
            ToDoubleFunction<Supplier<RedisAnnouncer.Status>> value = now -> meter.value.applyAsDouble(now.get());
            switch (meter.kind) {
                case GAUGE -> Gauge.builder(meter.meterName, status, value)
                        .description(meter.description).register(registry);
                case COUNTER -> FunctionCounter.builder(meter.meterName, status, value)
                        .description(meter.description).register(registry);
            }
        }
    }
}
