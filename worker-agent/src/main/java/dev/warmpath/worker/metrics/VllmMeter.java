package dev.warmpath.worker.metrics;

import dev.warmpath.worker.engine.EngineSnapshot;
import java.util.function.ToDoubleFunction;

/**
 * The meters that dashboards, autoscalers and routers made for vLLM read, under vLLM's names; a counter's name gets its
 * {@code _total} when it is written. {@code vllm:cache_config_info} stands beside them, in {@link VllmScrape}.
 */
enum VllmMeter {
    RUNNING(Kind.GAUGE, "vllm:num_requests_running", "Requests being computed", now -> now.load().running()),
    WAITING(Kind.GAUGE, "vllm:num_requests_waiting", "Requests queued", now -> now.load().waiting()),
    USAGE(Kind.GAUGE, "vllm:kv_cache_usage_perc", "Share of KV-cache blocks in use, 1 is all",
            now -> now.pool().usage()),
    QUERIES(Kind.COUNTER, "vllm:prefix_cache_queries", "Tokens of admitted prompts",
            now -> now.prefixCache().queriedTokens()),
    HITS(Kind.COUNTER, "vllm:prefix_cache_hits", "Of those, tokens found in the cache",
            now -> now.prefixCache().hitTokens()),
    PREEMPTIONS(Kind.COUNTER, "vllm:num_preemptions", "Requests that gave their blocks back for another",
            now -> now.work().preemptions()),
    /** Gone from vLLM since November 2025, but not from dashboards. */
    OLD_USAGE(Kind.GAUGE, "vllm:gpu_cache_usage_perc", "Older name of vllm:kv_cache_usage_perc",
            now -> now.pool().usage()),
    /** Gone from vLLM since May 2025; there it counted blocks over a sliding window, too. */
    OLD_HIT_RATE(Kind.GAUGE, "vllm:gpu_prefix_cache_hit_rate",
            "Share of the last 1,000 admitted prompts' tokens that was found in the cache",
            now -> now.prefixCache().recentHitRate());

    enum Kind {
        GAUGE,
        COUNTER
    }

    final Kind kind;
    final String meterName;
    final String description;
    final ToDoubleFunction<EngineSnapshot> value;

    VllmMeter(Kind kind, String meterName, String description, ToDoubleFunction<EngineSnapshot> value) {
        this.kind = kind;
        this.meterName = meterName;
        this.description = description;
        this.value = value;
    }
}
