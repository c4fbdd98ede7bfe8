package dev.warmpath.worker.kvcache;

import dev.warmpath.worker.histogram.Distribution;

/**
 * How long blocks stay in the cache and how often they are of use, in nanoseconds since the start; after vLLM's
 * {@code kv_block_} histograms (its {@code docs/design/metrics.md}, "KV Cache Residency Metrics"). Of a pool of up to
 * 4,096 blocks all are observed, of a larger one each sixteenth.
 *
 * @param lifetime           of evicted blocks: from their allocation until they were allocated again
 * @param idleBeforeEviction of evicted blocks: from the last hit, or their allocation if there was none, until they
 *                           were allocated again. Time in which a sequence only goes on using them counts as idle, as
 *                           in vLLM
 * @param reuseGap           between a block's hit and the next. vLLM tells the last few of them when a block is
 *                           evicted; here each counts when it ends, or those of the blocks that stay would be missing
 */
public record BlockResidency(Distribution lifetime, Distribution idleBeforeEviction, Distribution reuseGap) {}
