package dev.warmpath.worker.metrics;

import dev.warmpath.worker.engine.EngineHistogram;

/**
 * The distributions that dashboards made for vLLM read, under vLLM's names and with its buckets, those of its {@code
 * vllm/v1/metrics/loggers.py}. Buckets of token counts end at the model's context there, and so here.
 */
enum VllmHistogram {
    FIRST_TOKEN("vllm:time_to_first_token_seconds", "From a request's arrival to its first token",
            Buckets.ofSeconds(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20,
                    40, 80, 160, 640, 2_560),
            EngineHistogram.FIRST_TOKEN_TIME),
    INTER_TOKEN("vllm:inter_token_latency_seconds", "From one token of a request to its next",
            Buckets.ofSeconds(Bounds.TOKENS), EngineHistogram.INTER_TOKEN_TIME),
    /** The name before vLLM 0.11, which dashboards still read. */
    OLD_INTER_TOKEN("vllm:time_per_output_token_seconds", "Older name of vllm:inter_token_latency_seconds",
            Buckets.ofSeconds(Bounds.TOKENS), EngineHistogram.INTER_TOKEN_TIME),
    OUTPUT_TOKEN("vllm:request_time_per_output_token_seconds", "Mean time of a request's tokens after the first",
            Buckets.ofSeconds(Bounds.TOKENS), EngineHistogram.OUTPUT_TOKEN_TIME),
    END_TO_END("vllm:e2e_request_latency_seconds", "From a finished request's arrival to its end",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.END_TO_END_TIME),
    QUEUE("vllm:request_queue_time_seconds", "From a request's arrival to its admission",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.QUEUE_TIME),
    INFERENCE("vllm:request_inference_time_seconds", "From a finished request's admission to its last token",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.INFERENCE_TIME),
    PREFILL("vllm:request_prefill_time_seconds", "From a request's admission to its first token",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.PREFILL_TIME),
    DECODE("vllm:request_decode_time_seconds", "From a finished request's first token to its last",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.DECODE_TIME),
    PROMPT("vllm:request_prompt_tokens", "Tokens of a finished request's prompt",
            Buckets.ofLengths(Bounds.LENGTHS), EngineHistogram.PROMPT_TOKENS),
    COMPUTED_PROMPT("vllm:request_prefill_kv_computed_tokens", "Of those, the ones not found in the cache",
            Buckets.ofLengths(Bounds.LENGTHS), EngineHistogram.UNCACHED_PROMPT_TOKENS),
    GENERATED("vllm:request_generation_tokens", "Tokens of a finished request's answer",
            Buckets.ofLengths(Bounds.LENGTHS), EngineHistogram.GENERATED_TOKENS),
    /** The longest of a request's answers; here each answer is a request. */
    LONGEST_GENERATED("vllm:request_max_num_generation_tokens", "Tokens of a finished request's longest answer",
            Buckets.ofLengths(Bounds.LENGTHS), EngineHistogram.GENERATED_TOKENS),
    ALLOWED("vllm:request_params_max_tokens", "Tokens that a finished request allowed its answer",
            Buckets.ofLengths(Bounds.LENGTHS), EngineHistogram.ALLOWED_TOKENS),
    /** Is {@code vllm:iteration_tokens_total} when it is written, see {@link VllmScrape}. */
    ITERATION("vllm:iteration_tokens", "Tokens that go through the model in a step",
            Buckets.ofCounts(1, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384),
            EngineHistogram.STEP_TOKENS),
    BLOCK_LIFETIME("vllm:kv_block_lifetime_seconds", "From a block's allocation to its eviction",
            Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_LIFETIME),
    BLOCK_IDLE("vllm:kv_block_idle_before_evict_seconds", "From a block's last hit, or its allocation, to its eviction",
            Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_IDLE_TIME),
    BLOCK_REUSE_GAP("vllm:kv_block_reuse_gap_seconds", "From one hit of a block to the next",
            Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_REUSE_GAP);

    final String meterName;
    final String description;
    final Buckets buckets;
    final EngineHistogram source;

    VllmHistogram(String meterName, String description, Buckets buckets, EngineHistogram source) {
        this.meterName = meterName;
        this.description = description;
        this.buckets = buckets;
        this.source = source;
    }

    /** Constants of an enum cannot name a constant of their own. */
    private static final class Bounds {
        static final double[] TOKENS = {
            0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
        };
        static final double[] REQUESTS = {
            0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1_920, 7_680,
        };
        static final double[] LENGTHS = {
            1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
            1_000_000, 2_000_000, 5_000_000, 10_000_000,
        };
        static final double[] RESIDENCY = {
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800,
        };
    }
}
