package dev.warmpath.process.tracing;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingProperties;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;

/**
 * Ended spans on their way to the collector. So many may wait, beside the batch that is under way; what comes beyond is
 * dropped, and all three ends are counted. Nobody who ends a span waits. At the process's end, what is queued is sent
 * within {@value #LONGEST_END_MILLIS} ms or lost: a collector that hangs holds no stop up.
 */
final class SpanQueue implements SpanProcessor, MeterBinder, SmartLifecycle {

    private static final int LONGEST_END_MILLIS = 2_000;
    /** After the servers. */
    private static final int PHASE = WebServerApplicationContext.START_STOP_LIFECYCLE_PHASE - 2;

    private final int mostWaiting;
    private final BatchSpanProcessor batches;
    private final AtomicInteger waiting = new AtomicInteger();
    private final LongAdder sent = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private volatile boolean running;

    SpanQueue(SpanExporter collector, OpenTelemetryTracingProperties.Export properties) {
        this.mostWaiting = properties.getMaxQueueSize();
        this.batches = BatchSpanProcessor.builder(new Counted(collector))
                .setExporterTimeout(properties.getTimeout())
                .setMaxExportBatchSize(properties.getMaxBatchSize())
                .setMaxQueueSize(properties.getMaxQueueSize())
                .setScheduleDelay(properties.getScheduleDelay())
                .build();
    }

    BatchSpanProcessor batches() {
        return batches;
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isStartRequired() {
        return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (!span.getSpanContext().isSampled()) {
            return;
        }
        if (waiting.incrementAndGet() > mostWaiting) {
            waiting.decrementAndGet();
            dropped.increment();
        } else {
            batches.onEnd(span);
        }
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public CompletableResultCode shutdown() {
        return batches.shutdown();
    }

    @Override
    public CompletableResultCode forceFlush() {
        return batches.forceFlush();
    }

    /** The way out, with what becomes of each batch. */
    private final class Counted implements SpanExporter {

        private final SpanExporter collector;

        Counted(SpanExporter collector) {
            this.collector = collector;
        }

        @Override
        public CompletableResultCode export(Collection<SpanData> spans) {
            int count = spans.size();                              // the batch is used again once it has ended
            waiting.addAndGet(-count);
            CompletableResultCode result = collector.export(spans);
            return result.whenComplete(() -> (result.isSuccess() ? sent : failed).add(count));
        }

        @Override
        public CompletableResultCode flush() {
            return collector.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return collector.shutdown();
        }
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        count(registry, "sent", sent);
        count(registry, "failed", failed);
        count(registry, "dropped", dropped);
        Gauge.builder("warmpath.waiting.spans", waiting, AtomicInteger::get)
                .description("Spans that wait for the collector").baseUnit("spans").register(registry);
    }

    private static void count(MeterRegistry registry, String outcome, LongAdder spans) {
        FunctionCounter.builder("warmpath.spans", spans, LongAdder::sum)
                .description("Ended spans: sent to the collector, not taken by it, or too many for it")
                .baseUnit("spans").tags("outcome", outcome).register(registry);
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        shutdown().join(LONGEST_END_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
