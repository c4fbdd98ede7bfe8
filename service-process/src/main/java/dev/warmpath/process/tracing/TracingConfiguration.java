package dev.warmpath.process.tracing;

import io.micrometer.tracing.Tracer;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingProperties;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.SpanProcessors;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** What both services have in place of Boot's beans, where tracing is on. */
@Configuration(proxyBeanMethods = false)
@Conditional(TracingSwitch.class)
public class TracingConfiguration {

    @Bean
    SpanQueue spanQueue(ObjectProvider<SpanExporter> exporters, OpenTelemetryTracingProperties properties) {
        return new SpanQueue(SpanExporter.composite(exporters.orderedStream().toList()), properties.getExport());
    }

    /** Boot would make one more. */
    @Bean
    BatchSpanProcessor batchSpanProcessor(SpanQueue queue) {
        return queue.batches();
    }

    @Bean
    SpanProcessors spanProcessors(SpanQueue queue) {
        return SpanProcessors.of(new SpanProcessor[] {queue});
    }

    @Bean
    NoSpans noSpans(Tracer tracer) {
        return new NoSpans(tracer);
    }
}
