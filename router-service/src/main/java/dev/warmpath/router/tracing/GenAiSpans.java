package dev.warmpath.router.tracing;

import dev.warmpath.router.decisions.RequestRecord;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationView;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelSpan;
import io.micrometer.tracing.propagation.Propagator;
import io.opentelemetry.api.trace.StatusCode;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Writes what is observed of a request as spans, under OpenTelemetry's names for generative AI where there are any.
 * Those are still in development (open-telemetry/semantic-conventions-genai, docs/gen-ai), so they stand in this class
 * and nowhere else.
 *
 * <p>A span is written beneath one that is sampled, and only there. Its parent is the one that its observation was
 * given: whatever else may stand in a thread's locals does not count.
 */
final class GenAiSpans implements TracingObservationHandler<Observed> {

    private static final String PROVIDER = "warmpath";
    private static final double NANOS = 1e9;

    private final Tracer tracer;
    private final Propagator propagator;

    GenAiSpans(Tracer tracer, Propagator propagator) {
        this.tracer = tracer;
        this.propagator = propagator;
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
        return context instanceof Observed;
    }

    @Override
    public Tracer getTracer() {
        return tracer;
    }

    @Override
    public void onStart(Observed observed) {
        TracingContext own = getTracingContext(observed);          // meters' handlers ask for it, span or not
        @Nullable Span parent = parentOf(observed);
        if (parent == null || parent.isNoop()) {
            return;
        }
        Span span = tracer.spanBuilder().setParent(parent.context()).kind(kindOf(observed)).name(nameOf(observed))
                .start();
        own.setSpan(span);
        if (observed instanceof Observed.Attempt attempt) {
            propagator.inject(span.context(), attempt.headers, (headers, name, value) -> headers.put(name, value));
        }
    }

    private static @Nullable Span parentOf(Observed observed) {
        @Nullable ObservationView parent = observed.getParentObservation();
        @Nullable TracingContext tracing = parent == null ? null : parent.getContextView().get(TracingContext.class);
        return tracing == null ? null : tracing.getSpan();
    }

    private static Span.@Nullable Kind kindOf(Observed observed) {
        return observed instanceof Observed.Attempt ? Span.Kind.CLIENT : null;
    }

    private static String nameOf(Observed observed) {
        return switch (observed) {
            case Observed.Answer answer ->
                    answer.model == null ? operation(answer) : operation(answer) + ' ' + answer.model;
            case Observed.OwnWork work -> work.stage.name().toLowerCase(Locale.ROOT);
            case Observed.Waiting _ -> "queue";
            case Observed.Attempt _ -> "upstream";
        };
    }

    private static String operation(Observed.Answer answer) {
        return answer.asked.endpoint().equals("chat") ? "chat" : "text_completion";
    }

    @Override
    public void onStop(Observed observed) {
        @Nullable Span span = spanOf(observed);
        if (span == null) {
            return;
        }
        switch (observed) {
            case Observed.Answer answer -> tell(answer, span);
            case Observed.Attempt attempt -> tell(attempt, span);
            case Observed.OwnWork _, Observed.Waiting _ -> { }
        }
        @Nullable String failure = observed.failure;
        if (failure != null) {
            span.tag("error.type", failure);
            OtelSpan.toOtel(span).setStatus(StatusCode.ERROR);
        }
        endSpan(observed, span);
    }

    private static void tell(Observed.Answer answer, Span span) {
        RequestRecord.Asked asked = answer.asked;
        span.name(nameOf(answer));
        span.tag("gen_ai.operation.name", operation(answer));
        span.tag("gen_ai.provider.name", PROVIDER);
        span.tag("gen_ai.request.stream", asked.streamed());
        span.tag("gen_ai.request.max_tokens", asked.maxTokens());
        tag(span, "gen_ai.request.temperature", asked.temperature());
        tag(span, "gen_ai.request.top_k", asked.topK());
        tag(span, "gen_ai.request.top_p", asked.topP());
        span.tag("warmpath.request.id", asked.requestId());
        @Nullable String model = answer.model;
        if (model != null) {
            span.tag("gen_ai.request.model", model);
        }
        @Nullable String revision = answer.revision;
        if (model != null && revision != null) {
            span.tag("gen_ai.response.model", model);
            span.tag("warmpath.revision", revision);
        }
        if (answer.promptTokens > 0) {
            span.tag("gen_ai.usage.input_tokens", answer.promptTokens);
        }
        RequestRecord.@Nullable Answer whole = answer.answer;
        if (whole != null) {
            span.tagOfStrings("gen_ai.response.finish_reasons", List.of(whole.finishReason()));
            span.tag("gen_ai.usage.output_tokens", whole.completionTokens());
            tag(span, "gen_ai.usage.cache_read.input_tokens", whole.cachedTokens());
        }
        @Nullable Long firstTextNanos = answer.firstTextNanos;
        if (firstTextNanos != null && asked.streamed()) {
            span.tag("gen_ai.response.time_to_first_chunk", firstTextNanos / NANOS);
        }
    }

    private static void tell(Observed.Attempt attempt, Span span) {
        span.tag("warmpath.attempt", attempt.number);
        span.tag("warmpath.worker.id", attempt.workerId);
        span.tag("warmpath.route.reason", attempt.reason);
        span.tag("warmpath.predicted_cached_tokens", attempt.predictedCachedTokens);
        tag(span, "warmpath.cached_tokens", attempt.cachedTokens);
    }

    private static void tag(Span span, String name, @Nullable Integer value) {
        if (value != null) {
            span.tag(name, value);
        }
    }

    private static void tag(Span span, String name, @Nullable Float value) {
        if (value != null) {
            span.tag(name, Double.parseDouble(value.toString()));  // 0.7, not 0.699999988079071
        }
    }

    private static @Nullable Span spanOf(Observed observed) {
        @Nullable TracingContext tracing = observed.get(TracingContext.class);
        return tracing == null ? null : tracing.getSpan();
    }

    @Override
    public void onEvent(Observation.Event event, Observed observed) {
        @Nullable Span span = spanOf(observed);
        if (span != null) {
            span.event(event.getName());
        }
    }

    /** Causes are told by name: the message of an exception may quote what a client has sent. */
    @Override
    public void onError(Observed observed) {}

    @Override
    public void onScopeOpened(Observed observed) {
        if (spanOf(observed) != null) {
            TracingObservationHandler.super.onScopeOpened(observed);
        }
    }
}
