package dev.warmpath.process.tracing;

import io.micrometer.observation.Observation;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelSpan;
import io.micrometer.tracing.propagation.Propagator;
import io.opentelemetry.api.trace.StatusCode;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.observation.ServerRequestObservationContext;
import org.springframework.web.server.ServerWebExchange;
import reactor.util.context.ContextView;

/**
 * Spans of the requests that a service is for, continuing the trace that their {@code traceparent} names; health,
 * metrics and heartbeats have none. Attributes are OpenTelemetry's for HTTP servers. Of an error only its class is told:
 * messages quote what clients sent.
 */
public final class ServerSpans extends PropagatingReceiverTracingObservationHandler<ServerRequestObservationContext> {

    /** Where Spring keeps a request's observation, in the subscriber's context. */
    private static final String OBSERVATION = "micrometer.observation";
    private static final int FIRST_SERVER_ERROR = 500;

    private final Set<String> paths;

    /** @param paths those of POST requests that have spans */
    public ServerSpans(Tracer tracer, Propagator propagator, Set<String> paths) {
        super(tracer, propagator);
        this.paths = Set.copyOf(paths);
    }

    /** The observation of the request that is being handled. */
    public static @Nullable Observation observationOf(ContextView subscriber) {
        return subscriber.getOrDefault(OBSERVATION, null);
    }

    /** A request's span, sampled or not; null if it has none, or tracing is off. */
    public static @Nullable Span spanOf(Observation request) {
        return spanOf(request.getContextView());
    }

    /** Logs something about a request with the ids of its trace, if it has one. */
    public static void logging(ServerWebExchange exchange, Runnable lines) {
        @Nullable Span span = ServerRequestObservationContext.findCurrent(exchange.getAttributes())
                .map(ServerSpans::spanOf).orElse(null);
        if (span == null) {
            lines.run();
        } else {
            try (var _ = MDC.putCloseable("traceId", span.context().traceId());
                    var _ = MDC.putCloseable("spanId", span.context().spanId())) {
                lines.run();
            }
        }
    }

    private static @Nullable Span spanOf(Observation.ContextView context) {
        @Nullable TracingContext tracing = context.get(TracingContext.class);
        return tracing == null ? null : tracing.getSpan();
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
        return context instanceof ServerRequestObservationContext;
    }

    @Override
    public void onStart(ServerRequestObservationContext context) {
        if (hasSpan(context.getCarrier())) {
            super.onStart(context);
        } else {
            getTracingContext(context);                            // an empty one, which meters' handlers ask for
        }
    }

    private boolean hasSpan(@Nullable ServerHttpRequest request) {
        return request != null && request.getMethod() == HttpMethod.POST
                && paths.contains(request.getPath().value());
    }

    @Override
    public void onError(ServerRequestObservationContext context) {}

    @Override
    public void onEvent(Observation.Event event, ServerRequestObservationContext context) {}

    @Override
    public void onStop(ServerRequestObservationContext context) {
        @Nullable Span span = spanOf(context);
        ServerHttpRequest request = context.getCarrier();
        if (span == null || request == null) {
            return;
        }
        if (!span.isNoop()) {
            String path = request.getPath().value();
            span.name("POST " + path);
            span.tag("http.request.method", "POST").tag("http.route", path).tag("url.path", path);
            tellEnd(context, span);
        }
        endSpan(context, span);
    }

    private static void tellEnd(ServerRequestObservationContext context, Span span) {
        var response = context.getResponse();
        int status = response == null || response.getStatusCode() == null ? 0 : response.getStatusCode().value();
        if (context.isConnectionAborted()) {
            span.tag("error.type", "connection_aborted");          // the client has left: not an error of ours
        } else if (context.getError() != null) {
            span.tag("error.type", context.getError().getClass().getSimpleName());
        }
        if (status > 0) {
            span.tag("http.response.status_code", status);
        }
        if (status >= FIRST_SERVER_ERROR) {
            OtelSpan.toOtel(span).setStatus(StatusCode.ERROR);
        }
    }

    @Override
    public void onScopeOpened(ServerRequestObservationContext context) {
        if (spanOf(context) != null) {
            super.onScopeOpened(context);
        }
    }
}
