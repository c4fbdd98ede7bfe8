package dev.warmpath.worker.metrics;

import dev.warmpath.worker.routerlink.RedisAnnouncer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;

/** Registers every {@link RedisMeter}, if this worker announces to Redis. */
@Component
final class RedisMeters implements MeterBinder {

    private final ObjectProvider<RedisAnnouncer> announcer;

    RedisMeters(ObjectProvider<RedisAnnouncer> announcer) {
        this.announcer = announcer;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        announcer.ifAvailable(present -> bind(present, registry));
    }

    private static void bind(RedisAnnouncer announcer, MeterRegistry registry) {
        for (RedisMeter meter : RedisMeter.values()) {
            ToDoubleFunction<RedisAnnouncer> value = now -> meter.value.applyAsDouble(now.status());
            switch (meter.kind) {
                case GAUGE -> Gauge.builder(meter.meterName, announcer, value)
                        .description(meter.description).register(registry);
                case COUNTER -> FunctionCounter.builder(meter.meterName, announcer, value)
                        .description(meter.description).register(registry);
            }
        }
    }
}
