package dev.warmpath.router.tracing;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.propagation.Propagator;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/** Begins what is observed of requests. */
@Component
public final class RequestTraces {

    private static final String ANSWER = "warmpath.answer";

    private final ObservationRegistry registry;
    private final @Nullable Propagator propagator;
    private final StageClock stages;

    @Autowired
    RequestTraces(ObservationRegistry registry, ObjectProvider<Propagator> propagator, RouterMetrics metrics) {
        this(registry, propagator.getIfAvailable(), metrics::staged);
    }

    /** Of stages that nobody times. @param propagator null: tracing is off */
    public RequestTraces(ObservationRegistry registry, @Nullable Propagator propagator) {
        this(registry, propagator, (_, _) -> { });
    }

    private RequestTraces(ObservationRegistry registry, @Nullable Propagator propagator, StageClock stages) {
        this.registry = registry;
        this.propagator = propagator;
        this.stages = stages;
    }

    /** Takes the time of a stage that no span is made of. */
    @FunctionalInterface
    interface StageClock {
        void staged(Stage stage, long nanos);
    }

    /**
     * A client's request for an answer begins.
     *
     * @param http the server's observation of it
     */
    public RequestTrace begin(@Nullable Observation http, RequestRecord.Asked asked) {
        @Nullable Span request = propagator == null || http == null ? null : ServerSpans.spanOf(http);
        if (request == null) {
            return notTraced();
        }
        if (request.isNoop()) {
            return new RequestTrace(registry, stages, null, null, headers(request));
        }
        var context = new Observed.Answer(asked);
        context.setParentObservation(http);
        Observation answer = Observation.start(ANSWER, () -> context, registry);
        return new RequestTrace(registry, stages, new RequestTrace.Recorded(answer, context),
                request.context().traceId(), Map.of());
    }

    /** For work that is no part of an answer: its stages are meters only. */
    public RequestTrace notTraced() {
        return new RequestTrace(registry, stages, null, null, Map.of());
    }

    /** Of a trace that is not sampled: workers hear just that. */
    private Map<String, String> headers(Span request) {
        Map<String, String> headers = new HashMap<>();
        if (propagator != null) {
            propagator.inject(request.context(), headers, (all, name, value) -> all.put(name, value));
        }
        return headers;
    }
}
