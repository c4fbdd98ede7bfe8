package dev.warmpath.process.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.time.Duration;
import java.util.Collection;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingProperties;

class SpanQueueTest {

    private final MeterRegistry meters = new SimpleMeterRegistry();

    /** Eight are in the collector's hands, and sixteen wait for it. */
    @Test
    void a_collector_that_never_answers_holds_nobody_up_and_what_is_too_much_is_dropped_and_counted() {
        // a batch goes when it is full, and never before: whatever is slow here
        SpanQueue queue = queue(new CompletableResultCode(), Duration.ofHours(1));
        Tracer tracer = tracer(queue, Sampler.alwaysOn());
        for (int i = 0; i < 8; i++) {
            tracer.spanBuilder("first").startSpan().end();
        }
        eventually(() -> waiting() == 0);
        for (int i = 0; i < 1_000; i++) {
            tracer.spanBuilder("more").startSpan().end();
        }

        assertThat(waiting()).isEqualTo(16);
        assertThat(spans("dropped")).isEqualTo(984);
        assertThat(spans("sent") + spans("failed")).isZero();
        queue.stop();                                              // comes back
    }

    @Test
    void what_the_collector_takes_and_what_it_does_not_is_counted() {
        Tracer taken = tracer(queue(CompletableResultCode.ofSuccess()), Sampler.alwaysOn());
        taken.spanBuilder("a").startSpan().end();
        eventually(() -> spans("sent") == 1);

        meters.clear();
        Tracer refused = tracer(queue(CompletableResultCode.ofFailure()), Sampler.alwaysOn());
        refused.spanBuilder("b").startSpan().end();
        eventually(() -> spans("failed") == 1);
        assertThat(spans("sent") + spans("dropped") + waiting()).isZero();
    }

    @Test
    void what_is_not_sampled_is_neither_kept_nor_counted() {
        Tracer tracer = tracer(queue(new CompletableResultCode()), Sampler.alwaysOff());
        tracer.spanBuilder("a").startSpan().end();

        assertThat(waiting() + spans("sent") + spans("failed") + spans("dropped")).isZero();
    }

    private SpanQueue queue(CompletableResultCode answer) {
        return queue(answer, Duration.ofMillis(1));
    }

    /** @param delay after which a batch goes that is not full */
    private SpanQueue queue(CompletableResultCode answer, Duration delay) {
        var properties = new OpenTelemetryTracingProperties().getExport();
        properties.setMaxQueueSize(16);
        properties.setMaxBatchSize(8);
        properties.setScheduleDelay(delay);
        properties.setTimeout(Duration.ofHours(1));
        var queue = new SpanQueue(new SpanExporter() {
            @Override
            public CompletableResultCode export(Collection<SpanData> spans) {
                return answer;
            }

            @Override
            public CompletableResultCode flush() {
                return CompletableResultCode.ofSuccess();
            }

            @Override
            public CompletableResultCode shutdown() {
                return CompletableResultCode.ofSuccess();
            }
        }, properties);
        queue.bindTo(meters);
        return queue;
    }

    private static Tracer tracer(SpanQueue queue, Sampler sampler) {
        return SdkTracerProvider.builder().addSpanProcessor(queue).setSampler(sampler).build().get("test");
    }

    private int spans(String outcome) {
        return (int) meters.get("warmpath.spans").tag("outcome", outcome).functionCounter().count();
    }

    private int waiting() {
        return (int) meters.get("warmpath.waiting.spans").gauge().value();
    }

    private static void eventually(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {                        // JUnit ends what never comes
            Thread.onSpinWait();
        }
    }
}
