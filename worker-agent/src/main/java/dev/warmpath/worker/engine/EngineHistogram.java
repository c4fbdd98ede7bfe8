package dev.warmpath.worker.engine;

import dev.warmpath.worker.histogram.Histogram;
import java.util.function.Supplier;

/**
 * What the engine keeps distributions of. Times are nanoseconds on its own monotonic clock, and requests those that
 * others made: the warm-up's are left out. The cuts between queue, prefill and decode are those of vLLM's {@code
 * docs/design/metrics.md}, "Interval Calculations".
 */
public enum EngineHistogram {
    /** From a request's arrival here to its first admission; or to its end, if it was never admitted. */
    QUEUE_TIME(Histogram::ofNanos),
    /** The part of it, of an admitted request, from when it first found too few blocks; others are not counted. */
    BLOCKS_WAIT_TIME(Histogram::ofNanos),
    /** From the first admission to the first token; a preemption in between is part of it. */
    PREFILL_TIME(Histogram::ofNanos),
    /** From a request's arrival here to its first token. */
    FIRST_TOKEN_TIME(Histogram::ofNanos),
    /** From one token of a request to its next. */
    INTER_TOKEN_TIME(Histogram::ofNanos),
    /** Of a finished request, as all below: from its first token to its last. */
    DECODE_TIME(Histogram::ofNanos),
    /** The same for each token after the first; of requests with more than one. */
    OUTPUT_TOKEN_TIME(Histogram::ofNanos),
    /** From the first admission to the last token. */
    INFERENCE_TIME(Histogram::ofNanos),
    /** From its arrival to its end. */
    END_TO_END_TIME(Histogram::ofNanos),
    PROMPT_TOKENS(Histogram::ofCounts),
    /** Prompt tokens that were not found in the cache at the first admission. */
    UNCACHED_PROMPT_TOKENS(Histogram::ofCounts),
    GENERATED_TOKENS(Histogram::ofCounts),
    /** As many as the request allowed. */
    ALLOWED_TOKENS(Histogram::ofCounts),
    /** Of a device step: from the decision on its batch, or the end of the step before it, to its tokens. */
    STEP_TIME(Histogram::ofNanos),
    STEP_SEQUENCES(Histogram::ofCounts),
    STEP_TOKENS(Histogram::ofCounts),
    /** Of those, what is computed of prompts, and again after preemptions; 0 in many steps. */
    STEP_PREFILL_TOKENS(Histogram::ofCounts),
    STEP_DECODE_TOKENS(Histogram::ofCounts),
    /** Of evicted blocks, as the next; {@link dev.warmpath.worker.kvcache.BlockResidency} tells more. */
    BLOCK_LIFETIME(Histogram::ofNanos),
    BLOCK_IDLE_TIME(Histogram::ofNanos),
    /** Between two hits of a block. */
    BLOCK_REUSE_GAP(Histogram::ofNanos);

    final Supplier<Histogram> histogram;

    EngineHistogram(Supplier<Histogram> histogram) {
        this.histogram = histogram;
    }
}
