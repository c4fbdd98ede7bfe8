package dev.warmpath.worker.metrics;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.engine.EngineSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.function.ToDoubleFunction;

/**
 * The meters that dashboards, autoscalers and routers made for vLLM read, under vLLM's names; a counter's name gets its
 * {@code _total} when it is written. {@link VllmHistogram} has the distributions, and {@code vllm:cache_config_info}
 * stands in {@link VllmScrape}.
 */
enum VllmMeter {
    RUNNING(Kind.GAUGE, "vllm:num_requests_running", "Requests being computed", now -> now.load().running()),
    WAITING(Kind.GAUGE, "vllm:num_requests_waiting", "Requests queued", now -> now.load().waiting()),
    WAITING_FOR_CAPACITY(Kind.GAUGE, "vllm:num_requests_waiting_by_reason", Labels.of("reason", "capacity"),
            "Requests queued, by why", now -> now.load().waiting()),
    /** vLLM's are held back for an adapter or a transfer; here there are none. */
    WAITING_DEFERRED(Kind.GAUGE, "vllm:num_requests_waiting_by_reason", Labels.of("reason", "deferred"),
            "Requests queued, by why", _ -> 0),
    /** This worker never sleeps. */
    AWAKE(Kind.GAUGE, "vllm:engine_sleep_state", Labels.of("sleep_state", "awake"), "1 in the state that it is in",
            _ -> 1),
    WEIGHTS_OFFLOADED(Kind.GAUGE, "vllm:engine_sleep_state", Labels.of("sleep_state", "weights_offloaded"),
            "1 in the state that it is in", _ -> 0),
    DISCARD_ALL(Kind.GAUGE, "vllm:engine_sleep_state", Labels.of("sleep_state", "discard_all"),
            "1 in the state that it is in", _ -> 0),
    PROMPT_TOKENS(Kind.COUNTER, "vllm:prompt_tokens", "Tokens of prompts that were computed or found in the cache",
            now -> now.observed().promptTokens()),
    PROMPT_TOKENS_CACHED(Kind.COUNTER, "vllm:prompt_tokens_cached", "Of those, tokens found in the cache",
            now -> now.observed().cachedPromptTokens()),
    PROMPT_TOKENS_COMPUTED(Kind.COUNTER, "vllm:prompt_tokens_by_source", Labels.of("source", "local_compute"),
            "Tokens of prompts, by where their keys and values came from",
            now -> now.observed().promptTokens() - now.observed().cachedPromptTokens()),
    PROMPT_TOKENS_HIT(Kind.COUNTER, "vllm:prompt_tokens_by_source", Labels.of("source", "local_cache_hit"),
            "Tokens of prompts, by where their keys and values came from", now -> now.observed().cachedPromptTokens()),
    /** A worker computes its keys and values itself. */
    PROMPT_TOKENS_TRANSFERRED(Kind.COUNTER, "vllm:prompt_tokens_by_source", Labels.of("source", "external_kv_transfer"),
            "Tokens of prompts, by where their keys and values came from", _ -> 0),
    GENERATION_TOKENS(Kind.COUNTER, "vllm:generation_tokens", "Tokens of answers", now -> now.work().generatedTokens()),
    SUCCESS_STOP(Kind.COUNTER, "vllm:request_success", Labels.of("finished_reason", "stop"),
            "Requests, by how they ended", now -> now.observed().finished(FinishReason.STOP)),
    SUCCESS_LENGTH(Kind.COUNTER, "vllm:request_success", Labels.of("finished_reason", "length"),
            "Requests, by how they ended", now -> now.observed().finished(FinishReason.LENGTH)),
    SUCCESS_ABORT(Kind.COUNTER, "vllm:request_success", Labels.of("finished_reason", "abort"),
            "Requests, by how they ended", now -> now.observed().cancelled()),
    SUCCESS_ERROR(Kind.COUNTER, "vllm:request_success", Labels.of("finished_reason", "error"),
            "Requests, by how they ended", now -> now.observed().failed()),
    CORRUPTED(Kind.COUNTER, "vllm:corrupted_requests", "Requests whose logits were unusable",
            now -> now.observed().failed(FailureReason.UNUSABLE_LOGITS)),
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
    /** Older names, which the dashboard of vLLM's production-stack still reads. */
    OLD_QUERIES(Kind.COUNTER, "vllm:gpu_prefix_cache_queries", "Older name of vllm:prefix_cache_queries",
            now -> now.prefixCache().queriedTokens()),
    OLD_HITS(Kind.COUNTER, "vllm:gpu_prefix_cache_hits", "Older name of vllm:prefix_cache_hits",
            now -> now.prefixCache().hitTokens()),
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
    /** Beside those that all have. */
    final Labels labels;
    final String description;
    final ToDoubleFunction<EngineSnapshot> value;

    VllmMeter(Kind kind, String meterName, String description, ToDoubleFunction<EngineSnapshot> value) {
        this(kind, meterName, Labels.EMPTY, description, value);
    }

    VllmMeter(Kind kind, String meterName, Labels labels, String description, ToDoubleFunction<EngineSnapshot> value) {
        this.kind = kind;
        this.meterName = meterName;
        this.labels = labels;
        this.description = description;
        this.value = value;
    }
}
