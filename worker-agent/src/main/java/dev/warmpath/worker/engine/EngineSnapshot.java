package dev.warmpath.worker.engine;

import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.histogram.Distribution;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The engine's state after a turn, for heartbeats and meters. What counts up does so since the start.
 *
 * @param observed     is up to 100 ms older than the rest while the engine is at work
 * @param stepAgeNanos how long the device step that is running now has been running; 0 while none is
 */
public record EngineSnapshot(Load load, Pool pool, PrefixCache prefixCache, Swap swap, Work work, Observed observed,
        long stepAgeNanos) {

    EngineSnapshot withStepAge(long nanos) {
        return nanos == stepAgeNanos ? this : new EngineSnapshot(load, pool, prefixCache, swap, work, observed, nanos);
    }

    /**
     * Who is being served, and who is not yet.
     *
     * @param running             sequences being computed
     * @param waiting             sequences queued behind them
     * @param waitingForBlocks    of those, the ones that found too few blocks when they were last tried
     * @param pendingPromptTokens prompt tokens of both that still have to be computed; those that a waiting sequence
     *                            has found cached are not among them
     * @param pendingRequests     of both, those without a first token
     * @param routers             each router's part of all that
     * @param contextTokens       tokens of all of them, drawn ones among them
     * @param news                counts up with each request that is taken and each first token
     */
    public record Load(int running, int waiting, int waitingForBlocks, long pendingPromptTokens, int pendingRequests,
            List<RouterLoad> routers, long contextTokens, long news) {}

    /**
     * The blocks on the device.
     *
     * @param blockCount     blocks that can hold tokens
     * @param freeBlocks     blocks that no sequence uses, cached ones among them
     * @param cachedBlocks   prefix blocks that can be reused, copies counted once, in use or free
     * @param allocatedSlots places for tokens in the blocks that sequences use
     * @param unusedSlots    of those, places in partly filled blocks where no token stands
     */
    public record Pool(int blockCount, int freeBlocks, int cachedBlocks, long allocatedSlots, long unusedSlots) {

        public int usedBlocks() {
            return blockCount - freeBlocks;
        }

        /** The share of blocks that sequences use, 0 to 1; what is only cached counts as free. */
        public double usage() {
            return (double) usedBlocks() / blockCount;
        }

        /** The share of the slots of used blocks that hold no token, 0 to 1. */
        public double fragmentation() {
            return allocatedSlots == 0 ? 0 : (double) unusedSlots / allocatedSlots;
        }
    }

    /**
     * What admissions found, and what became of what they could have found.
     *
     * @param queriedTokens tokens of admitted prompts
     * @param hitTokens     of those, found in the cache
     * @param queriedBlocks full blocks of admitted prompts
     * @param hitBlocks     of those, found in the cache
     * @param recentHitRate hits over queries in tokens, 0 to 1, over about the last thousand admitted requests
     * @param collisions    blocks that had the 8-byte key looked for, but another hash or other tokens
     * @param evictions     keyed blocks overwritten
     * @param resets        how often the whole cache was forgotten
     */
    public record PrefixCache(long queriedTokens, long hitTokens, long queriedBlocks, long hitBlocks,
            double recentHitRate, long collisions, long evictions, long resets) {}

    /**
     * Host memory for the blocks of sequences that have to give way.
     *
     * @param blockCount blocks of swap space
     * @param freeBlocks of those, not in use
     * @param outBlocks  blocks copied from the device
     * @param inBlocks   blocks copied back
     */
    public record Swap(int blockCount, int freeBlocks, long outBlocks, long inBlocks) {

        public int usedBlocks() {
            return blockCount - freeBlocks;
        }
    }

    /**
     * What has been done since the start.
     *
     * @param steps                device steps
     * @param stepNanos            time spent on device work: copying, submitting, awaiting; scheduling is not in it
     * @param computedTokens       tokens that went through the model, prompts and answers
     * @param generatedTokens      tokens of answers
     * @param recomputePreemptions sequences that gave their blocks up, to compute again what is not found cached
     * @param swapPreemptions      sequences whose blocks were moved to swap space
     * @param refusedGraphs        steps that could not be captured or replayed as a graph, and are slower without
     */
    public record Work(long steps, long stepNanos, long computedTokens, long generatedTokens,
            long recomputePreemptions, long swapPreemptions, long refusedGraphs) {

        /** How often a sequence had to give way. */
        public long preemptions() {
            return recomputePreemptions + swapPreemptions;
        }
    }

    /** What became of requests, the warm-up's not among them, and how times and sizes are distributed. */
    public static final class Observed {

        private final long[] finished;
        private final long[] failed;
        private final long[] refused;
        private final long cancelled;
        private final long promptTokens;
        private final long cachedPromptTokens;
        private final Map<EngineHistogram, Distribution> distributions;
        private final @Nullable StepCost stepCost;

        /**
         * Nobody writes to these arrays and this map any more.
         *
         * @param finished requests by {@link FinishReason}
         * @param failed   by {@link FailureReason}, as is {@code refused}
         * @param stepCost what steps took lately; null while too few have been seen
         */
        public Observed(long[] finished, long[] failed, long[] refused, long cancelled, long promptTokens,
                long cachedPromptTokens, Map<EngineHistogram, Distribution> distributions,
                @Nullable StepCost stepCost) {
            this.finished = finished;
            this.failed = failed;
            this.refused = refused;
            this.cancelled = cancelled;
            this.promptTokens = promptTokens;
            this.cachedPromptTokens = cachedPromptTokens;
            this.distributions = distributions;
            this.stepCost = stepCost;
        }

        public long finished(FinishReason reason) {
            return finished[reason.ordinal()];
        }

        /** Taken, and failed later. */
        public long failed(FailureReason reason) {
            return failed[reason.ordinal()];
        }

        public long failed() {
            return Arrays.stream(failed).sum();
        }

        /** Not taken. */
        public long refused(FailureReason reason) {
            return refused[reason.ordinal()];
        }

        /** Nobody waited for them any more. */
        public long cancelled() {
            return cancelled;
        }

        /** Of requests that came so far as a token. */
        public long promptTokens() {
            return promptTokens;
        }

        /** Of those, found in the cache. */
        public long cachedPromptTokens() {
            return cachedPromptTokens;
        }

        /** What steps took lately; null while too few have been seen. */
        public @Nullable StepCost stepCost() {
            return stepCost;
        }

        public Distribution distribution(EngineHistogram histogram) {
            return Objects.requireNonNull(distributions.get(histogram));
        }
    }
}
