package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import java.util.Arrays;
import java.util.stream.IntStream;

/** A scheduler over a cache, and a model that always draws the same token. */
final class SchedulerWorld {

    static final int VOCABULARY = 10_000;
    static final int ANY_TOKEN = 9_000;

    final KvCacheManager cache;
    final RequestLimits limits;
    final Scheduler scheduler;
    final int blockSize;
    ScheduledBatch batch;
    long nowNanos;

    SchedulerWorld(SchedulerSettings settings, int blockCount, int blockSize, int contextLength) {
        this(settings, KvCacheSettings.of(blockCount, blockSize), contextLength);
    }

    SchedulerWorld(SchedulerSettings settings, KvCacheSettings cacheSettings, int contextLength) {
        blockSize = cacheSettings.blockSize();
        cache = new KvCacheManager(cacheSettings);
        limits = new RequestLimits(VOCABULARY, contextLength, cacheSettings, settings.mostTokensInFlight());
        scheduler = new Scheduler(settings, limits, cache);
    }

    Sequence[] submit(int[]... prompts) {
        return submit(/* maxTokens */ 10, prompts);
    }

    Sequence[] submit(int maxTokens, int[]... prompts) {
        var sequences = new Sequence[prompts.length];
        for (int i = 0; i < prompts.length; i++) {
            sequences[i] = submit(request("r" + i, blockSize, prompts[i], maxTokens));
        }
        return sequences;
    }

    Sequence submit(Sequence sequence) {
        assertThat(scheduler.submit(sequence, nowNanos)).isEqualTo(new Submission.Accepted());
        return sequence;
    }

    void submitAll(Sequence... sequences) {
        Arrays.stream(sequences).forEach(this::submit);
    }

    void runToEnd() {
        while (!scheduler.isIdle()) {
            step();
        }
    }

    /** A turn of one batch. @return tokens per entry */
    int[] step() {
        int[] tokenCounts = schedule();
        settle(batch);
        return tokenCounts;
    }

    /** @return tokens per entry */
    int[] schedule() {
        batch = scheduler.schedule(nowNanos);
        scheduler.checkIntegrity();
        return IntStream.range(0, batch.size()).map(batch::tokenCount).toArray();
    }

    /** All steps of the batch. */
    void settle(ScheduledBatch batch) {
        while (!batch.isEmpty() && batch.settledSteps() < batch.stepCount()) {
            settleStep(batch, ANY_TOKEN);
        }
    }

    /** One step of the batch, which draws this token for everybody. */
    void settleStep(ScheduledBatch batch, int token) {
        int[] drawn = new int[batch.rowCount(batch.settledSteps())];
        Arrays.fill(drawn, token);
        scheduler.settle(batch, drawn);
        scheduler.checkIntegrity();
    }

    static int[] table(Sequence sequence) {
        return sequence.tokens().table().toArray();
    }
}
