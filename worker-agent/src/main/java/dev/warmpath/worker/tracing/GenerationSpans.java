package dev.warmpath.worker.tracing;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.worker.engine.GenerationTimes;
import io.micrometer.observation.Observation;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes what a generation did beneath the span of its request:
 * <pre>
 *   submitted ── queue ── admitted ── prefill ── first token ── decode ── ended
 * </pre>
 * One that did not get so far has the spans up to where it ended. A preempted one waits and computes anew within its
 * prefill or its decode; how often is told by the last span.
 */
public final class GenerationSpans {

    private static final double NANOS = 1e9;

    private final Tracer tracer;

    GenerationSpans(Tracer tracer) {
        this.tracer = tracer;
    }

    /**
     * @param request the server's observation of it
     * @return takes the times of its generation when that has ended; null if nobody wants them
     */
    public @Nullable Consumer<GenerationTimes> beneath(@Nullable Observation request) {
        @Nullable Span span = request == null ? null : ServerSpans.spanOf(request);
        if (span == null || span.isNoop()) {
            return null;
        }
        TraceContext parent = span.context();
        return times -> write(parent, times);
    }

    private void write(TraceContext parent, GenerationTimes times) {
        Instant now = Instant.now();
        long epochNanos = TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano() - System.nanoTime();
        Span.Builder queue = begin(parent, "queue", epochNanos + times.submittedNanos());
        if (times.lackedBlocks()) {
            queue.tag("warmpath.blocks_wait", (times.admittedOrEndedNanos() - times.lackedBlocksNanos()) / NANOS);
        }
        Span.Builder last = queue;
        if (times.isAdmitted()) {
            end(queue, epochNanos + times.admittedNanos());
            last = begin(parent, "prefill", epochNanos + times.admittedNanos())
                    .tag("warmpath.prompt_tokens", times.promptTokens())
                    .tag("warmpath.cached_tokens", times.cachedTokens());
            if (times.hasToken()) {
                end(last, epochNanos + times.firstTokenNanos());
                last = begin(parent, "decode", epochNanos + times.firstTokenNanos())
                        .tag("warmpath.completion_tokens", times.completionTokens());
            }
        }
        end(last.tag("warmpath.preemptions", times.preemptions()), epochNanos + times.endedNanos());
    }

    private Span.Builder begin(TraceContext parent, String name, long epochNanos) {
        return tracer.spanBuilder().setParent(parent).name(name).startTimestamp(epochNanos, TimeUnit.NANOSECONDS);
    }

    private static void end(Span.Builder span, long epochNanos) {
        span.start().end(epochNanos, TimeUnit.NANOSECONDS);
    }
}
