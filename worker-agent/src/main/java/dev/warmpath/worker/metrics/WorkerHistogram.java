package dev.warmpath.worker.metrics;

import dev.warmpath.worker.engine.EngineHistogram;

/** All meters of the worker that have a distribution, without labels. What each of them is, says its source. */
enum WorkerHistogram {
    QUEUE("warmpath_request_queue_seconds", "From a request's arrival to its admission, or to its end before that",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.QUEUE_TIME),
    BLOCKS_WAIT("warmpath_request_blocks_wait_seconds",
            "The part of it in which too few blocks were free, of requests for which that was so",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.BLOCKS_WAIT_TIME),
    PREFILL("warmpath_request_prefill_seconds", "From a request's admission to its first token",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.PREFILL_TIME),
    FIRST_TOKEN("warmpath_request_first_token_seconds", "From a request's arrival at the worker to its first token",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.FIRST_TOKEN_TIME),
    INTER_TOKEN("warmpath_request_inter_token_seconds", "From one token of a request to its next",
            Buckets.ofSeconds(Bounds.STEPS), EngineHistogram.INTER_TOKEN_TIME),
    DECODE("warmpath_request_decode_seconds", "From a finished request's first token to its last",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.DECODE_TIME),
    END_TO_END("warmpath_request_end_to_end_seconds", "From a finished request's arrival at the worker to its end",
            Buckets.ofSeconds(Bounds.REQUESTS), EngineHistogram.END_TO_END_TIME),
    STEP("warmpath_engine_step_seconds", "From the decision on a step, or the end of the one before it, to its tokens",
            Buckets.ofSeconds(Bounds.STEPS), EngineHistogram.STEP_TIME),
    STEP_SEQUENCES("warmpath_engine_step_sequences", "Sequences in a step",
            Buckets.ofCounts(Bounds.POWERS_OF_TWO), EngineHistogram.STEP_SEQUENCES),
    STEP_PREFILL("warmpath_engine_step_prefill_tokens",
            "Tokens of prompts in a step, and those computed again after a preemption",
            Buckets.ofCounts(Bounds.POWERS_OF_TWO), EngineHistogram.STEP_PREFILL_TOKENS),
    STEP_DECODE("warmpath_engine_step_decode_tokens", "Tokens of answers that go through the model in a step",
            Buckets.ofCounts(Bounds.POWERS_OF_TWO), EngineHistogram.STEP_DECODE_TOKENS),
    BLOCK_LIFETIME("warmpath_kv_block_lifetime_seconds", "From a block's allocation to its eviction",
            Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_LIFETIME),
    BLOCK_IDLE("warmpath_kv_block_idle_before_evict_seconds",
            "From a block's last hit, or its allocation, to its eviction", Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_IDLE_TIME),
    BLOCK_REUSE_GAP("warmpath_kv_block_reuse_gap_seconds", "From one hit of a block to the next",
            Buckets.ofSeconds(Bounds.RESIDENCY), EngineHistogram.BLOCK_REUSE_GAP);

    final String meterName;
    final String description;
    final Buckets buckets;
    final EngineHistogram source;

    WorkerHistogram(String meterName, String description, Buckets buckets, EngineHistogram source) {
        this.meterName = meterName;
        this.description = description;
        this.buckets = buckets;
        this.source = source;
    }

    /** Constants of an enum cannot name a constant of their own. */
    private static final class Bounds {
        static final double[] REQUESTS = {
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 240,
        };
        static final double[] STEPS = {
            0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60,
        };
        static final double[] RESIDENCY = {
            0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800,
        };
        static final double[] POWERS_OF_TWO = {
            1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384,
        };
    }
}
