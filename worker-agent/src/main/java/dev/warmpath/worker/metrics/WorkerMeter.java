package dev.warmpath.worker.metrics;

import dev.warmpath.worker.engine.EngineSnapshot;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** All meters of the worker. No labels: a worker is one process with one model, and the scraper says which. */
enum WorkerMeter {
    RUNNING(Kind.GAUGE, "warmpath.engine.running", "sequences", "Sequences being computed", EngineSnapshot::running),
    WAITING(Kind.GAUGE, "warmpath.engine.waiting", "sequences", "Sequences queued", EngineSnapshot::waiting),
    PENDING(Kind.GAUGE, "warmpath.engine.prompt.pending", "tokens",
            "Prompt tokens of running and waiting sequences still to be computed", EngineSnapshot::pendingPromptTokens),
    STEPS(Kind.COUNTER, "warmpath.engine.steps", "steps", "Steps computed", EngineSnapshot::steps),
    STEP_TIME(Kind.COUNTER, "warmpath.engine.step.time", "seconds", "Time spent in steps",
            snapshot -> snapshot.stepNanos() / 1e9),
    COMPUTED(Kind.COUNTER, "warmpath.engine.computed", "tokens", "Tokens that went through the model",
            EngineSnapshot::computedTokens),
    GENERATED(Kind.COUNTER, "warmpath.engine.generated", "tokens", "Tokens drawn", EngineSnapshot::generatedTokens),
    PREEMPTIONS(Kind.COUNTER, "warmpath.engine.preemptions", "sequences",
            "Running sequences that gave their blocks back for another", EngineSnapshot::preemptions),
    BLOCKS(Kind.GAUGE, "warmpath.kv.blocks", null, "Blocks that can hold tokens", EngineSnapshot::blockCount),
    BLOCKS_USED(Kind.GAUGE, "warmpath.kv.blocks.used", null, "Blocks that sequences use",
            EngineSnapshot::usedBlocks),
    BLOCKS_CACHED(Kind.GAUGE, "warmpath.kv.blocks.cached", null, "Prefix blocks that can be reused, in use or free",
            EngineSnapshot::cachedBlocks),
    EVICTIONS(Kind.COUNTER, "warmpath.kv.blocks.evicted", null, "Keyed blocks that were overwritten",
            EngineSnapshot::evictions),
    CACHE_QUERIES(Kind.COUNTER, "warmpath.prefix.cache.queries", "tokens", "Tokens of admitted prompts",
            EngineSnapshot::queriedTokens),
    CACHE_HITS(Kind.COUNTER, "warmpath.prefix.cache.hits", "tokens", "Of those, tokens found in the cache",
            EngineSnapshot::hitTokens);

    enum Kind {
        GAUGE,
        COUNTER
    }

    final Kind kind;
    final String meterName;
    final @Nullable String unit;
    final String description;
    final ToDoubleFunction<EngineSnapshot> value;

    WorkerMeter(Kind kind, String meterName, @Nullable String unit, String description,
            ToDoubleFunction<EngineSnapshot> value) {
        this.kind = kind;
        this.meterName = meterName;
        this.unit = unit;
        this.description = description;
        this.value = value;
    }
}
