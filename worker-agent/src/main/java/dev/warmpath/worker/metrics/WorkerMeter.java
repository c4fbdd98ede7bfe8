package dev.warmpath.worker.metrics;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.engine.EngineSnapshot;
import io.micrometer.core.instrument.Tags;
import java.util.function.ToDoubleBiFunction;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * All meters of the worker that have one value; {@link WorkerHistogram} has the others. No labels but those that split
 * one meter in several: a worker is one process with one model, and the scraper says which.
 */
enum WorkerMeter {
    RUNNING(Kind.GAUGE, "warmpath.engine.running", "sequences", "Sequences being computed",
            now -> now.load().running()),
    WAITING(Kind.GAUGE, "warmpath.engine.waiting", "sequences", "Sequences queued", now -> now.load().waiting()),
    WAITING_FOR_BLOCKS(Kind.GAUGE, "warmpath.engine.waiting.for.blocks", "sequences",
            "Of those queued, the ones that found too few blocks", now -> now.load().waitingForBlocks()),
    PENDING(Kind.GAUGE, "warmpath.engine.prompt.pending", "tokens",
            "Prompt tokens of running and waiting sequences still to be computed; found cached ones are not among them",
            now -> now.load().pendingPromptTokens()),
    FINISHED_STOP(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "stop"), null, Text.ENDED,
            now -> now.observed().finished(FinishReason.STOP)),
    FINISHED_LENGTH(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "length"), null, Text.ENDED,
            now -> now.observed().finished(FinishReason.LENGTH)),
    CANCELLED(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "cancelled"), null, Text.ENDED,
            now -> now.observed().cancelled()),
    FAILED_DEADLINE(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "deadline_exceeded"), null, Text.ENDED,
            now -> now.observed().failed(FailureReason.DEADLINE_EXCEEDED)),
    FAILED_ENGINE(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "engine_failure"), null, Text.ENDED,
            now -> now.observed().failed(FailureReason.ENGINE_FAILURE)),
    FAILED_LOGITS(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "unusable_logits"), null, Text.ENDED,
            now -> now.observed().failed(FailureReason.UNUSABLE_LOGITS)),
    FAILED_RULES(Kind.COUNTER, "warmpath.engine.requests", Tags.of("end", "rules_leave_nothing"), null, Text.ENDED,
            now -> now.observed().failed(FailureReason.RULES_LEAVE_NOTHING)),
    REFUSED_INVALID(Kind.COUNTER, "warmpath.engine.refused.requests", Tags.of("reason", "invalid_request"), null,
            Text.REFUSED, now -> now.observed().refused(FailureReason.INVALID_REQUEST)),
    REFUSED_UNSUPPORTED(Kind.COUNTER, "warmpath.engine.refused.requests", Tags.of("reason", "unsupported"), null,
            Text.REFUSED, now -> now.observed().refused(FailureReason.UNSUPPORTED)),
    REFUSED_EPOCH(Kind.COUNTER, "warmpath.engine.refused.requests", Tags.of("reason", "wrong_epoch"), null,
            Text.REFUSED, now -> now.observed().refused(FailureReason.WRONG_EPOCH)),
    REFUSED_FULL(Kind.COUNTER, "warmpath.engine.refused.requests", Tags.of("reason", "queue_full"), null,
            Text.REFUSED, now -> now.observed().refused(FailureReason.QUEUE_FULL)),
    REFUSED_SHUTTING_DOWN(Kind.COUNTER, "warmpath.engine.refused.requests", Tags.of("reason", "shutting_down"), null,
            Text.REFUSED, now -> now.observed().refused(FailureReason.SHUTTING_DOWN)),
    STEPS(Kind.COUNTER, "warmpath.engine.steps", "steps", "Steps computed", now -> now.work().steps()),
    STEP_TIME(Kind.COUNTER, "warmpath.engine.step.time", "seconds", "Time spent on device work; scheduling is not in it",
            now -> now.work().stepNanos() / 1e9),
    COST_OF_STEP(Kind.GAUGE, "warmpath.engine.step.cost", Tags.of("part", "step"), "seconds", Text.COST,
            now -> seconds(now, StepCost::stepMicros)),
    COST_OF_PROMPT_TOKEN(Kind.GAUGE, "warmpath.engine.step.cost", Tags.of("part", "prompt_token"), "seconds", Text.COST,
            now -> seconds(now, StepCost::promptTokenMicros)),
    COST_OF_ROW(Kind.GAUGE, "warmpath.engine.step.cost", Tags.of("part", "row"), "seconds", Text.COST,
            now -> seconds(now, StepCost::rowMicros)),
    COST_OF_CONTEXT_TOKEN(Kind.GAUGE, "warmpath.engine.step.cost", Tags.of("part", "context_token"), "seconds",
            Text.COST, now -> seconds(now, cost -> cost.contextTokenNanos() / 1e3)),
    COMPUTED(Kind.COUNTER, "warmpath.engine.computed", "tokens", "Tokens that went through the model",
            now -> now.work().computedTokens()),
    GENERATED(Kind.COUNTER, "warmpath.engine.generated", "tokens", "Tokens drawn", now -> now.work().generatedTokens()),
    REFUSED_GRAPHS(Kind.COUNTER, "warmpath.engine.graphs.refused", null,
            "Device steps that could not be captured or replayed as a graph; tried again after 4,096 steps",
            now -> now.work().refusedGraphs()),
    PREEMPTIONS_RECOMPUTE(Kind.COUNTER, "warmpath.engine.preemptions", Tags.of("mode", "recompute"), "sequences",
            "Running sequences that gave their blocks back for another", now -> now.work().recomputePreemptions()),
    PREEMPTIONS_SWAP(Kind.COUNTER, "warmpath.engine.preemptions", Tags.of("mode", "swap"), "sequences",
            "Running sequences that gave their blocks back for another", now -> now.work().swapPreemptions()),
    BLOCKS(Kind.GAUGE, "warmpath.kv.blocks", null, "Blocks that can hold tokens", now -> now.pool().blockCount()),
    BLOCKS_USED(Kind.GAUGE, "warmpath.kv.blocks.used", null, "Blocks that sequences use",
            now -> now.pool().usedBlocks()),
    BLOCKS_FREE(Kind.GAUGE, "warmpath.kv.blocks.free", null, "Blocks that no sequence uses, cached ones among them",
            now -> now.pool().freeBlocks()),
    BLOCKS_CACHED(Kind.GAUGE, "warmpath.kv.blocks.cached", null, "Prefix blocks that can be reused, in use or free",
            now -> now.pool().cachedBlocks()),
    EVICTIONS(Kind.COUNTER, "warmpath.kv.blocks.evicted", null, "Keyed blocks that were overwritten",
            now -> now.prefixCache().evictions()),
    USAGE(Kind.GAUGE, "warmpath.kv.usage", "ratio", "Share of the blocks that sequences use",
            now -> now.pool().usage()),
    FRAGMENTATION(Kind.GAUGE, "warmpath.kv.fragmentation", "ratio",
            "Share of the slots of used blocks that hold no token", now -> now.pool().fragmentation()),
    SWAP_BLOCKS(Kind.GAUGE, "warmpath.kv.swap.blocks", null, "Blocks of swap space", now -> now.swap().blockCount()),
    SWAP_BLOCKS_USED(Kind.GAUGE, "warmpath.kv.swap.blocks.used", null,
            "Blocks of swap space that hold a sequence's copy", now -> now.swap().usedBlocks()),
    SWAPPED_OUT(Kind.COUNTER, "warmpath.kv.swapped", Tags.of("direction", "out"), "bytes",
            "Blocks copied between the cache and swap space",
            (now, cache) -> (double) now.swap().outBlocks() * cache.bytesPerBlock()),
    SWAPPED_IN(Kind.COUNTER, "warmpath.kv.swapped", Tags.of("direction", "in"), "bytes",
            "Blocks copied between the cache and swap space",
            (now, cache) -> (double) now.swap().inBlocks() * cache.bytesPerBlock()),
    CACHE_QUERIES(Kind.COUNTER, "warmpath.prefix.cache.queries", "tokens", "Tokens of admitted prompts",
            now -> now.prefixCache().queriedTokens()),
    CACHE_HITS(Kind.COUNTER, "warmpath.prefix.cache.hits", "tokens", "Of those, tokens found in the cache",
            now -> now.prefixCache().hitTokens()),
    CACHE_QUERIES_BLOCKS(Kind.COUNTER, "warmpath.prefix.cache.queries.blocks", null, "Full blocks of admitted prompts",
            now -> now.prefixCache().queriedBlocks()),
    CACHE_HITS_BLOCKS(Kind.COUNTER, "warmpath.prefix.cache.hits.blocks", null, "Of those, blocks found in the cache",
            now -> now.prefixCache().hitBlocks()),
    CACHE_HIT_RATE(Kind.GAUGE, "warmpath.prefix.cache.hit.rate", "ratio",
            "Share of the last 1,000 admitted prompts' tokens that was found in the cache",
            now -> now.prefixCache().recentHitRate()),
    COLLISIONS(Kind.COUNTER, "warmpath.prefix.cache.collisions", null,
            "Blocks that had the 8-byte key looked for, but another hash or other tokens; they were not used",
            now -> now.prefixCache().collisions()),
    RESETS(Kind.COUNTER, "warmpath.prefix.cache.resets", null, "How often all cached prefixes were forgotten",
            now -> now.prefixCache().resets()),
    MODEL_LOAD(Kind.GAUGE, "warmpath.model.load", "seconds", "How long the weights took from their files to the device",
            (_, model) -> model.loadTime().toNanos() / 1e9);

    enum Kind {
        GAUGE,
        COUNTER
    }

    /** Constants of the enum cannot name a constant of its own. */
    private static final class Text {
        static final String COST = "What a step takes lately, and each prompt token, each decoding sequence and each "
                + "token of its context in it; not a number until enough steps have been measured";
        static final String ENDED = "Requests that were taken, by how they ended";
        static final String REFUSED = "Requests that were not taken, by why";
    }

    final Kind kind;
    final String meterName;
    final Tags tags;
    final @Nullable String unit;
    final String description;
    final ToDoubleBiFunction<EngineSnapshot, ServedModel> value;

    WorkerMeter(Kind kind, String meterName, @Nullable String unit, String description,
            ToDoubleFunction<EngineSnapshot> value) {
        this(kind, meterName, Tags.empty(), unit, description, value);
    }

    WorkerMeter(Kind kind, String meterName, @Nullable String unit, String description,
            ToDoubleBiFunction<EngineSnapshot, ServedModel> value) {
        this(kind, meterName, Tags.empty(), unit, description, value);
    }

    WorkerMeter(Kind kind, String meterName, Tags tags, @Nullable String unit, String description,
            ToDoubleFunction<EngineSnapshot> value) {
        this(kind, meterName, tags, unit, description, (now, _) -> value.applyAsDouble(now));
    }

    WorkerMeter(Kind kind, String meterName, Tags tags, @Nullable String unit, String description,
            ToDoubleBiFunction<EngineSnapshot, ServedModel> value) {
        this.kind = kind;
        this.meterName = meterName;
        this.tags = tags;
        this.unit = unit;
        this.description = description;
        this.value = value;
    }

    private static double seconds(EngineSnapshot now, ToDoubleFunction<StepCost> micros) {
        StepCost cost = now.observed().stepCost();
        return cost == null ? Double.NaN : micros.applyAsDouble(cost) / 1e6;
    }
}
