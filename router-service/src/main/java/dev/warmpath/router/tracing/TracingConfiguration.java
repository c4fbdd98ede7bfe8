package dev.warmpath.router.tracing;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.process.tracing.TracingSwitch;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.propagation.Propagator;
import java.util.Set;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

/** What writes spans, where tracing is on. */
@Configuration(proxyBeanMethods = false)
@Conditional(TracingSwitch.class)
class TracingConfiguration {

    private static final Set<String> TRACED_PATHS =
            Set.of("/v1/chat/completions", "/v1/completions", "/v1/route", "/tokenize", "/detokenize");

    @Bean
    ServerSpans serverSpans(Tracer tracer, Propagator propagator) {
        return new ServerSpans(tracer, propagator, TRACED_PATHS);
    }

    @Bean
    @Order(0)
    GenAiSpans genAiSpans(Tracer tracer, Propagator propagator) {
        return new GenAiSpans(tracer, propagator);
    }
}
