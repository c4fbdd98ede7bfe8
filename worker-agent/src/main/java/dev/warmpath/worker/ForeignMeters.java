package dev.warmpath.worker;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.foreign.event.EventCounts;
import dev.warmpath.worker.foreign.generate.Counts;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.foreign.generate.ForeignEngine;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What passes through a worker beside an engine of somebody else's; what that does with it the engine's own meters
 * tell.
 *
 * @param engine asked for what became of requests
 * @param events asked for what it told of its cache
 * @param kind   of the engine: some kinds have no events to follow
 */
record ForeignMeters(ForeignEngine engine, EngineEvents events, EngineKind kind) implements MeterBinder {

    @Override
    public void bindTo(MeterRegistry registry) {
        Gauge.builder("warmpath.foreign.answers", engine, now -> now.load().answers() ? 1 : 0)
                .description("1: the engine beside this worker answers; 0: nothing new is taken").register(registry);
        Gauge.builder("warmpath.foreign.requests", engine, now -> now.load().load().running())
                .description("Requests at the engine").tags("state", "running").register(registry);
        Gauge.builder("warmpath.foreign.requests", engine, now -> now.load().load().waiting())
                .description("Requests at the engine").tags("state", "waiting").register(registry);
        for (FinishReason reason : FinishReason.values()) {
            outcome(registry, "finished", reason, counts -> counts.finished(reason));
        }
        for (FailureReason reason : FailureReason.values()) {
            outcome(registry, "failed", reason, counts -> counts.failed(reason));
            outcome(registry, "refused", reason, counts -> counts.refused(reason));
        }
        FunctionCounter.builder("warmpath.foreign.outcomes", engine, now -> now.counts().cancelled())
                .description("What became of requests").tags("outcome", "cancelled", "reason", "").register(registry);
        tokens(registry, "prompt", Counts::promptTokens);
        tokens(registry, "cached", Counts::cachedPromptTokens);
        tokens(registry, "generated", Counts::generatedTokens);

        FunctionCounter.builder("warmpath.foreign.prompts.read.otherwise", engine, now -> now.counts().readOtherwise())
                .description("Prompts in which a server that takes text has found another number of tokens")
                .register(registry);

        Gauge.builder("warmpath.foreign.events.following", events, now -> now.isFollowing() ? 1 : 0)
                .description("1: the engine's cache events can come; 0: routers go by what it told last, or was sent")
                .tags("kind", kind.name().toLowerCase(Locale.ROOT)).register(registry);
        Gauge.builder("warmpath.foreign.events.announced", events, now -> now.counts().announced())
                .description("Blocks of the engine that are announced").baseUnit("blocks").register(registry);
        event(registry, "batch", EventCounts::batches);
        event(registry, "replayed", EventCounts::replayed);
        event(registry, "broken", EventCounts::broken);
        event(registry, "unknown", EventCounts::unknown);
        event(registry, "gap", EventCounts::gaps);
        event(registry, "lost", EventCounts::lostGaps);
        event(registry, "restart", EventCounts::restarts);
        event(registry, "overflow", EventCounts::overflows);
        blocks(registry, "announced", EventCounts::stored);
        blocks(registry, "equal_hash", EventCounts::equalHashes);
        blocks(registry, "unproved", EventCounts::unproved);
        blocks(registry, "passed_over", EventCounts::passedOver);
    }

    private void outcome(MeterRegistry registry, String outcome, Enum<?> reason, ToDoubleFunction<Counts> value) {
        FunctionCounter.builder("warmpath.foreign.outcomes", engine, now -> value.applyAsDouble(now.counts()))
                .description("What became of requests")
                .tags(Tags.of("outcome", outcome, "reason", reason.name().toLowerCase(Locale.ROOT))).register(registry);
    }

    private void tokens(MeterRegistry registry, String kind, ToDoubleFunction<Counts> value) {
        FunctionCounter.builder("warmpath.foreign.tokens", engine, now -> value.applyAsDouble(now.counts()))
                .description("Tokens of requests that finished").tags("kind", kind).register(registry);
    }

    private void blocks(MeterRegistry registry, String kind, ToDoubleFunction<EventCounts> value) {
        FunctionCounter.builder("warmpath.foreign.stored", events, now -> value.applyAsDouble(now.counts()))
                .description("Blocks that the engine said it stored, by what became of that").baseUnit("blocks")
                .tags("kind", kind).register(registry);
    }

    private void event(MeterRegistry registry, String kind, ToDoubleFunction<EventCounts> value) {
        FunctionCounter.builder("warmpath.foreign.events", events, now -> value.applyAsDouble(now.counts()))
                .description("What came of the engine's cache events").tags("kind", kind).register(registry);
    }
}
