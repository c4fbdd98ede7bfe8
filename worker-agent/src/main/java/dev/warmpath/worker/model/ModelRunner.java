package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.StepOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * A loaded model with its paged cache: batches in, drawn tokens out. Owns the backend and closes it. Used by one
 * thread; at most one step is outstanding.
 */
public final class ModelRunner implements AutoCloseable {

    private final ModelConfig config;
    private final ComputeBackend backend;
    private final KvCache cache;
    private final int maxBlocksPerSequence;
    private final int maxBatchTokens;
    private final int maxSequences;
    private final StepInputs inputs;
    private final LlamaDecoder decoder;
    private final SampledTokens sampled;

    private ModelRunner(ModelConfig config, LlamaWeights weights, ComputeBackend backend, int blockCount, int blockSize,
                        int maxBatchTokens, int maxSequences) {
        this.config = config;
        this.backend = backend;
        this.maxBatchTokens = maxBatchTokens;
        this.maxSequences = maxSequences;
        this.maxBlocksPerSequence = Math.ceilDiv(config.contextLength(), blockSize);
        this.cache = backend.allocateKvCache(config.cacheShape(blockSize), blockCount);
        this.inputs = new StepInputs(backend, maxBatchTokens, maxSequences, maxBlocksPerSequence);
        this.decoder = new LlamaDecoder(config, weights, backend, cache, maxBatchTokens, maxSequences);
        this.sampled = new SampledTokens(backend.allocate(DataType.I32, maxSequences, 1),
                backend.allocate(DataType.F32, maxSequences, 1));
    }

    /**
     * Reads {@code config.json} and {@code *.safetensors} and puts the weights on the device. The backend is closed if
     * that fails.
     * @param blockCount     blocks of the paged cache, the null block 0 included
     * @param blockSize      tokens in a block
     * @param maxBatchTokens tokens in the largest step
     * @param maxSequences   sequences in the largest step
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a weight file is broken
     */
    public static ModelRunner load(Path modelDirectory, ComputeBackend backend, int blockCount, int blockSize,
                                   int maxBatchTokens, int maxSequences) throws IOException {
        try {
            var config = ModelConfig.read(modelDirectory.resolve("config.json"));
            var weights = LlamaWeights.load(modelDirectory, config, backend);
            return new ModelRunner(config, weights, backend, blockCount, blockSize, maxBatchTokens, maxSequences);
        } catch (IOException | RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    public ModelConfig config() {
        return config;
    }

    /** A batch that fits this runner's largest step and longest context. */
    public InputBatch newInputBatch() {
        return new InputBatch(maxBatchTokens, maxSequences, maxBlocksPerSequence, cache.shape().blockSize());
    }

    /**
     * Enqueues a step. The batch has been read when this returns and may be refilled.
     * @throws IllegalArgumentException if the batch is empty or does not fit model and cache; nothing is enqueued then
     * @throws ComputeException if the device refuses
     */
    public PendingStep submit(InputBatch batch) {
        requireFitting(batch);
        PagedBatch paged = inputs.write(batch);
        decoder.enqueue(inputs, paged, batch.sampledCount());
        backend.sample(decoder.logits(), inputs.sampling, sampled, batch.sampledCount());
        return new PendingStep(backend.submit(sampled, batch.sampledCount()), batch.sampledCount());
    }

    private void requireFitting(InputBatch batch) {
        requireWithin("tokens in the batch", batch.tokenCount(), 1, maxBatchTokens);
        requireWithin("sequences in the batch", batch.sequenceCount(), 1, maxSequences);
        requireWithin("blocks per sequence", batch.maxBlocksPerSequence(), 1, maxBlocksPerSequence);
        requireWithin("block size", batch.blockSize(), cache.shape().blockSize(), cache.shape().blockSize());
        requireWithin("largest block id", batch.largestBlock(), 1, cache.blockCount() - 1);
        requireWithin("largest token id", batch.largestToken(), 0, config.vocabularySize() - 1);
        requireWithin("largest position", batch.largestPosition(), 0, config.contextLength() - 1);
    }

    private static void requireWithin(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s: %d, takes %d to %d".formatted(what, value, least, most));
        }
    }

    /**
     * Waits for a step.
     * @param output filled in the order of the sampled sequences; empty if this throws
     * @throws ComputeException if the step failed; cache slots that it wrote are then undefined
     */
    public void await(PendingStep pending, StepOutput output) {
        backend.await(pending.completion(), output);
    }

    /** Enqueues copies of whole blocks, before the next step. */
    public void copyBlocks(BlockMapping mapping, CopyDirection direction) {
        backend.copyBlocks(cache, mapping, direction);
    }

    /** Bytes on the device that one block of the cache takes. */
    public long bytesPerBlock() {
        return backend.bytesPerBlock(cache.shape());
    }

    /**
     * Copies out the logits of the last step's sampled rows, for tests and diagnosis.
     * @param logits float32 [sampledCount, vocabulary], native order
     */
    public void readLogits(int sampledCount, MemorySegment logits) {
        backend.read(decoder.logits(), sampledCount, logits);
    }

    @Override
    public void close() {
        backend.close();
    }
}
