package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/**
 * A loaded model with its paged cache: batches in, drawn tokens out. Owns the backend and closes it. Used by one
 * thread. As many steps may be in flight as the settings say; each keeps its results until it is awaited, and they are
 * awaited in the order in which they were submitted.
 */
public final class ModelRunner implements AutoCloseable {

    /** Pairs of device blocks handed over in one call where they are smaller than those of the caller. */
    private static final int COPIES_AT_ONCE = 256;

    private final LoadedModel model;
    private final ComputeBackend backend;
    private final StepSettings settings;
    private final int blockCount;
    private final int hostBlockCount;
    private final KvCache cache;
    /** What the steps in flight drew, step n's at n modulo the length; the step before's is read by the next. */
    private final SampledTokens[] sampled;
    private final BlockMapping kernelMapping = new BlockMapping(COPIES_AT_ONCE);
    private long submittedSteps;
    private long awaitedSteps;
    private int lastSampledCount;

    ModelRunner(LoadedModel model, int blockCount, int hostBlockCount) {
        this.model = model;
        this.backend = model.backend;
        this.settings = model.settings;
        this.blockCount = blockCount;
        this.hostBlockCount = hostBlockCount;
        this.sampled = model.sampled;
        int ratio = settings.kernelBlocksPerBlock();
        this.cache = backend.allocateKvCache(model.config.cacheShape(settings.kernelBlockSize()),
                Math.multiplyExact(blockCount, ratio), Math.multiplyExact(hostBlockCount, ratio));
    }

    /** Loads a model and gives it a cache whose size is known before; throws what the two stages throw. */
    public static ModelRunner load(Path model, ComputeBackend backend, RunnerSettings settings) throws IOException {
        ModelSource source = ModelSource.of(model);
        return LoadedModel.load(source, ModelConfig.read(source), backend, settings.steps())
                .withCache(settings.blockCount(), settings.hostBlockCount());
    }

    public ModelConfig config() {
        return model.config;
    }

    /** See {@link ComputeBackend#prefillSizes}, up to the largest step. */
    public int[] prefillSizes() {
        return backend.prefillSizes(settings.maxBatchTokens());
    }

    /** See {@link ComputeBackend#decodeSizes}, up to the largest step. */
    public int[] decodeSizes() {
        return backend.decodeSizes(settings.maxSequences());
    }

    /** See {@link ComputeBackend#refusedGraphs}. */
    public long refusedGraphs() {
        return backend.refusedGraphs();
    }

    /** A batch that fits this runner's largest step and longest context. */
    public InputBatch newInputBatch() {
        return new InputBatch(settings.maxBatchTokens(), settings.maxSequences(), model.maxBlocksPerSequence,
                settings.blockSize(), settings.kernelBlockSize(), model.config.groupWindows(), maxLogitEntries());
    }

    /** Adjustments of logits that a step has room for, of all its rows together. */
    public int maxLogitEntries() {
        return LogitAdjustments.capacity(model.config.vocabularySize(), settings.maxSequences());
    }

    /** What a step brings at most. */
    public StepOutput newStepOutput() {
        return new StepOutput(settings.maxSequences(), settings.maxScoredRows());
    }

    /**
     * Enqueues a step. The batch has been read when this returns and may be refilled.
     * @throws IllegalArgumentException if the batch is empty or does not fit model and cache, or takes a token that the
     *                                  step before does not draw; nothing is enqueued then
     * @throws IllegalStateException    if as many steps are in flight as there may be; nothing is enqueued then
     * @throws ComputeException         if the device refuses; this step is then not in flight, those before are
     */
    public PendingStep submit(InputBatch batch) {
        requireFitting(batch);
        if (submittedSteps - awaitedSteps == sampled.length) {
            throw new IllegalStateException("steps in flight: %d, takes no more".formatted(sampled.length));
        }
        SampledTokens drawn = drawnBy(submittedSteps);
        int sampledCount = batch.sampledCount();
        SampledTokens before = drawnBy(Math.max(0, submittedSteps - 1));
        List<PagedBatch> paged = model.inputs.write(batch, before);
        ScoredTokens scored = model.scored[(int) (submittedSteps % sampled.length)];
        model.decoder.enqueue(model.inputs, paged, cache, sampledCount);
        if (batch.tellsLikeliest()) {
            backend.score(model.decoder.logits(), model.inputs.scoring, scored, 0, sampledCount);
        }
        if (batch.isAdjusted()) {
            backend.sampleAdjusted(model.decoder.logits(), model.inputs.sampling, model.inputs.adjustments, before,
                    drawn, sampledCount);
        } else {
            backend.sample(model.decoder.logits(), model.inputs.sampling, drawn, sampledCount);
        }
        model.decoder.enqueueScores(model.inputs, scored, sampledCount, batch.promptRowCount());
        var completion = backend.submit(drawn, sampledCount, scored, batch.scoredCount());
        submittedSteps++;
        lastSampledCount = sampledCount;
        return new PendingStep(completion, sampledCount);
    }

    private SampledTokens drawnBy(long stepIndex) {
        return sampled[(int) (stepIndex % sampled.length)];
    }

    private void requireFitting(InputBatch batch) {
        requireWithin("tokens in the batch", batch.tokenCount(), 1, settings.maxBatchTokens());
        requireWithin("sequences in the batch", batch.sequenceCount(), 1, settings.maxSequences());
        requireWithin("blocks per sequence", batch.maxBlocksPerSequence(), 1, model.maxBlocksPerSequence);
        requireWithin("block size", batch.blockSize(), settings.blockSize(), settings.blockSize());
        requireWithin("kernel block size", batch.kernelBlockSize(), settings.kernelBlockSize(),
                settings.kernelBlockSize());
        requireWithin("adjustments of logits", batch.maxEntries(), 0, maxLogitEntries());
        requireWithin("cache groups", batch.groupCount(), model.config.groupWindows().size(),
                model.config.groupWindows().size());
        requireWithin("largest block id", batch.largestBlock(), 1, blockCount - 1);
        requireWithin("largest token id", batch.largestToken(), 0, model.config.vocabularySize() - 1);
        requireWithin("largest position", batch.largestPosition(), 0, model.config.contextLength() - 1);
        if (batch.isFed()) {
            requireWithin("largest row fed from the step before", batch.largestSource(), 0, lastSampledCount - 1);
        }
    }

    private static void requireWithin(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s: %d, takes %d to %d".formatted(what, value, least, most));
        }
    }

    /**
     * Waits for the oldest step in flight. It is over then, whether it failed or not; the later ones stay in flight.
     * @param output filled in the order of the sampled sequences; empty if this throws
     * @throws ComputeException if the step failed; cache slots that it wrote are then undefined
     * @throws IllegalStateException if the step is not the oldest in flight
     */
    public void await(PendingStep pending, StepOutput output) {
        try {
            backend.await(pending.completion(), output);
            awaitedSteps++;
        } catch (ComputeException e) {
            awaitedSteps++;
            throw e;
        }
    }

    /**
     * Enqueues copies of whole blocks, pair after pair: after the steps submitted so far, before the next.
     * @param mapping block ids of the cache, or from 0 of its swap space, as the direction says
     * @throws IllegalArgumentException if there is no such block; nothing is copied then
     * @throws ComputeException if the device refuses, or there is no swap space and the direction needs it
     */
    public void copyBlocks(BlockMapping mapping, CopyDirection direction) {
        int ratio = settings.kernelBlocksPerBlock();
        if (ratio == 1) {
            backend.copyBlocks(cache, mapping, direction);
        } else {
            requireBlocks(mapping, direction);
            copyKernelBlocks(mapping, direction, ratio);
        }
    }

    /** All of them before the first is copied: the device sees them in portions. */
    private void requireBlocks(BlockMapping mapping, CopyDirection direction) {
        int sources = direction == CopyDirection.HOST_TO_DEVICE ? hostBlockCount : blockCount;
        int targets = direction == CopyDirection.DEVICE_TO_HOST ? hostBlockCount : blockCount;
        for (int pair = 0; pair < mapping.count(); pair++) {
            requireWithin("source block", mapping.source(pair), 0, sources - 1);
            requireWithin("target block", mapping.target(pair), 0, targets - 1);
        }
    }

    private void copyKernelBlocks(BlockMapping mapping, CopyDirection direction, int ratio) {
        kernelMapping.clear();
        for (int i = 0; i < mapping.count() * ratio; i++) {
            if (kernelMapping.count() == COPIES_AT_ONCE) {
                backend.copyBlocks(cache, kernelMapping, direction);
                kernelMapping.clear();
            }
            int pair = i / ratio;
            kernelMapping.add(mapping.source(pair) * ratio + i % ratio, mapping.target(pair) * ratio + i % ratio);
        }
        backend.copyBlocks(cache, kernelMapping, direction);
    }

    /** Bytes on the device that one block of the cache takes. */
    public long bytesPerBlock() {
        return backend.bytesPerBlock(cache.shape()) * settings.kernelBlocksPerBlock();
    }

    /**
     * Waits for everything enqueued and copies out the logits of the last submitted step's sampled rows, for tests and
     * diagnosis. Not if that step has scored a prompt, behind which they are gone.
     * @param logits float32 [sampledCount, vocabulary], native order
     */
    public void readLogits(int sampledCount, MemorySegment logits) {
        backend.read(model.decoder.logits(), sampledCount, logits);
    }

    @Override
    public void close() {
        backend.close();
    }
}
