package dev.warmpath.worker.engine;

import static dev.warmpath.worker.engine.EngineHistogram.ALLOWED_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.BLOCKS_WAIT_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.BLOCK_IDLE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.BLOCK_LIFETIME;
import static dev.warmpath.worker.engine.EngineHistogram.BLOCK_REUSE_GAP;
import static dev.warmpath.worker.engine.EngineHistogram.DECODE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.END_TO_END_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.FIRST_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.GENERATED_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.INFERENCE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.INTER_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.OUTPUT_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.PREFILL_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.PROMPT_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.QUEUE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_DECODE_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_PREFILL_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_SEQUENCES;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.UNCACHED_PROMPT_TOKENS;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.histogram.Distribution;
import dev.warmpath.worker.histogram.Histogram;
import dev.warmpath.worker.kvcache.BlockResidency;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How long requests and steps take, and what becomes of them. Written by the engine's thread, except for refusals;
 * nothing here allocates or asks for the time. Others read {@link EngineSnapshot.Observed}.
 */
final class Observations {

    private final Histogram[] histograms = new Histogram[EngineHistogram.values().length];
    private final long[] finished = new long[FinishReason.values().length];
    private final long[] failed = new long[FailureReason.values().length];
    private final AtomicLongArray refused = new AtomicLongArray(FailureReason.values().length);
    private long cancelled;
    private long promptTokens;
    private long cachedPromptTokens;
    private long lastStepNanos = Long.MIN_VALUE;
    private final StepCosts costs = new StepCosts();
    private int batchRows;
    private long batchContextTokens;
    private long batchNanos;

    Observations() {
        for (EngineHistogram each : EngineHistogram.values()) {
            histograms[each.ordinal()] = each.histogram.get();
        }
    }

    /** For any thread. */
    void refused(FailureReason reason) {
        refused.incrementAndGet(reason.ordinal());
    }

    /** A token was drawn. */
    void drew(Generation generation, long nowNanos) {
        if (generation.isMadeUp()) {
            return;
        }
        if (generation.firstTokenNanos == Sequence.NEVER) {
            first(generation, nowNanos);
        } else {
            record(INTER_TOKEN_TIME, nowNanos - generation.lastTokenNanos);
        }
        generation.lastTokenNanos = nowNanos;
    }

    private void first(Generation generation, long nowNanos) {
        generation.firstTokenNanos = nowNanos;
        Sequence sequence = generation.sequence();
        record(QUEUE_TIME, sequence.admittedNanos() - generation.submittedNanos());
        if (sequence.lackedBlocksNanos() != Sequence.NEVER) {
            record(BLOCKS_WAIT_TIME, sequence.admittedNanos() - sequence.lackedBlocksNanos());
        }
        record(PREFILL_TIME, nowNanos - sequence.admittedNanos());
        record(FIRST_TOKEN_TIME, nowNanos - generation.submittedNanos());
        promptTokens += sequence.tokens().promptLength();
        cachedPromptTokens += sequence.tokens().cachedTokens();
    }

    void finished(Generation generation, FinishReason reason, long nowNanos) {
        if (generation.isMadeUp()) {
            return;
        }
        finished[reason.ordinal()]++;
        ended(generation, nowNanos);
        Sequence sequence = generation.sequence();
        int tokens = sequence.completionTokens();
        if (tokens > 0) {
            long decodeNanos = generation.lastTokenNanos - generation.firstTokenNanos;
            record(DECODE_TIME, decodeNanos);
            record(INFERENCE_TIME, generation.lastTokenNanos - sequence.admittedNanos());
            if (tokens > 1) {
                record(OUTPUT_TOKEN_TIME, decodeNanos / (tokens - 1));
            }
        }
        record(END_TO_END_TIME, nowNanos - generation.submittedNanos());
        record(PROMPT_TOKENS, sequence.tokens().promptLength());
        record(UNCACHED_PROMPT_TOKENS, sequence.tokens().promptLength() - sequence.tokens().cachedTokens());
        record(GENERATED_TOKENS, tokens);
        record(ALLOWED_TOKENS, sequence.stop().maxTokens());
    }

    void failed(Generation generation, FailureReason reason, long nowNanos) {
        if (!generation.isMadeUp()) {
            failed[reason.ordinal()]++;
            ended(generation, nowNanos);
        }
    }

    void cancelled(Generation generation, long nowNanos) {
        if (!generation.isMadeUp()) {
            cancelled++;
            ended(generation, nowNanos);
        }
    }

    /** Who never got so far as a token waited all the same. */
    private void ended(Generation generation, long nowNanos) {
        if (generation.firstTokenNanos == Sequence.NEVER) {
            long admitted = generation.sequence().admittedNanos();
            record(QUEUE_TIME, (admitted == Sequence.NEVER ? nowNanos : admitted) - generation.submittedNanos());
        }
    }

    /** The tokens of a batch's step are there. */
    void stepDone(ScheduledBatch batch, int step, long nowNanos) {
        long nanos = nowNanos - Math.max(batch.scheduledNanos(), lastStepNanos);
        record(STEP_TIME, nanos);
        learnCosts(batch, step, nanos);
        lastStepNanos = nowNanos;
        record(STEP_SEQUENCES, batch.rowCount(step));
        record(STEP_TOKENS, batch.totalTokens(step));
        record(STEP_PREFILL_TOKENS, batch.prefillTokens(step));
        record(STEP_DECODE_TOKENS, batch.decodeTokens(step));
    }

    /** Once for the whole batch: a processor computes all of its steps before it tells of the first. */
    private void learnCosts(ScheduledBatch batch, int step, long nanos) {
        batchRows = (step == 0 ? 0 : batchRows) + batch.decodeTokens(step);
        batchContextTokens = (step == 0 ? 0 : batchContextTokens) + batch.decodeContextTokens(step);
        batchNanos = (step == 0 ? 0 : batchNanos) + nanos;
        if (step + 1 == batch.stepCount()) {
            costs.add(batch.stepCount(), batch.prefillTokens(0), batchRows, batchContextTokens, batchNanos);
        }
    }

    /** A copy for others. @param blocks what the cache has observed itself */
    EngineSnapshot.Observed observed(BlockResidency blocks) {
        Map<EngineHistogram, Distribution> distributions = new EnumMap<>(EngineHistogram.class);
        for (EngineHistogram each : EngineHistogram.values()) {
            distributions.put(each, histograms[each.ordinal()].distribution());
        }
        distributions.put(BLOCK_LIFETIME, blocks.lifetime());
        distributions.put(BLOCK_IDLE_TIME, blocks.idleBeforeEviction());
        distributions.put(BLOCK_REUSE_GAP, blocks.reuseGap());
        long[] refusals = new long[refused.length()];
        for (int i = 0; i < refusals.length; i++) {
            refusals[i] = refused.get(i);
        }
        return new EngineSnapshot.Observed(finished.clone(), failed.clone(), refusals, cancelled, promptTokens,
                cachedPromptTokens, distributions, costs.cost());
    }

    private void record(EngineHistogram histogram, long value) {
        histograms[histogram.ordinal()].record(value);
    }
}
