package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.TokenSequence;

/**
 * Gives a batch more than one device step, so that scheduling and settling cost less per token: only while everybody
 * decodes and nobody waits, for nothing can be admitted between the steps; only if the blocks for it are free, for
 * nobody is to give way for tokens that are not due yet; and only if nobody's next token depends on more tokens than the
 * last one that are not known yet.
 */
final class DrawAhead {

    private final KvCacheManager cache;
    private final int maxSteps;
    private final int contextLength;
    private final int groupCount;

    DrawAhead(SchedulerSettings settings, RequestLimits limits, KvCacheManager cache) {
        this.cache = cache;
        this.maxSteps = settings.steps();
        this.contextLength = limits.contextLength();
        this.groupCount = limits.cache().groups().size();
    }

    void lengthen(ScheduledBatch batch) {
        if (maxSteps == 1 || !mayDrawAhead(batch) || blocksNeeded(batch) > cache.freeBlocks()) {
            return;
        }
        int steps = 1;
        for (int entry = 0; entry < batch.size(); entry++) {
            int draws = draws(batch.sequence(entry));
            batch.setDrawCount(entry, draws);
            steps = Math.max(steps, draws);
        }
        batch.setStepCount(steps);
    }

    private static boolean mayDrawAhead(ScheduledBatch batch) {
        for (int entry = 0; entry < batch.size(); entry++) {
            if (batch.tokenCount(entry) != 1 || !batch.samples(entry) || batch.sequence(entry).looksBack()) {
                return false;
            }
        }
        return true;
    }

    private int blocksNeeded(ScheduledBatch batch) {
        int blocks = 0;
        for (int entry = 0; entry < batch.size(); entry++) {
            TokenSequence tokens = batch.sequence(entry).tokens();
            // the last token drawn is not computed in this batch
            int computed = tokens.computedTokens() + draws(batch.sequence(entry)) - 1;
            blocks += Math.ceilDiv(computed, cache.blockSize()) - tokens.table().blockCount();
        }
        return blocks * groupCount;
    }

    private int draws(Sequence sequence) {
        return Math.min(maxSteps, sequence.drawsLeft(contextLength));
    }
}
