package dev.warmpath.router.http;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.process.tracing.TracingSwitch;
import io.micrometer.observation.Observation;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.TraceContext;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Tells each traced request's span in the answer, as the W3C's draft of Trace Context's second level has it: a client
 * that brought no trace can ask for its own by this header.
 */
@Component
@Conditional(TracingSwitch.class)
@Order(Ordered.HIGHEST_PRECEDENCE)
final class TraceResponseFilter implements WebFilter {

    private static final String HEADER = "traceresponse";

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        return Mono.deferContextual(subscriber -> {
            @Nullable Observation request = ServerSpans.observationOf(subscriber);
            @Nullable Span span = request == null ? null : ServerSpans.spanOf(request);
            if (span != null) {
                exchange.getResponse().getHeaders().set(HEADER, text(span.context()));
            }
            return chain.filter(exchange);
        });
    }

    private static String text(TraceContext span) {
        return "00-" + span.traceId() + "-" + span.spanId() + (Boolean.TRUE.equals(span.sampled()) ? "-01" : "-00");
    }
}
