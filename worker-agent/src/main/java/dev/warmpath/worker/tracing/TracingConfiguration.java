package dev.warmpath.worker.tracing;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.process.tracing.TracingSwitch;
import dev.warmpath.protocol.fleet.Protocol;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.propagation.Propagator;
import java.util.Set;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** What writes spans, where tracing is on. */
@Configuration(proxyBeanMethods = false)
@Conditional(TracingSwitch.class)
class TracingConfiguration {

    @Bean
    ServerSpans serverSpans(Tracer tracer, Propagator propagator) {
        return new ServerSpans(tracer, propagator, Set.of(Protocol.GENERATE_PATH));
    }

    @Bean
    GenerationSpans generationSpans(Tracer tracer) {
        return new GenerationSpans(tracer);
    }
}
