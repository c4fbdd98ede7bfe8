package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * A model on the device, with everything that its steps need but the paged cache: how large that may be is known only
 * now, from the memory that is left. {@link #withCache} makes the one runner out of it.
 */
public final class LoadedModel {

    final ModelConfig config;
    final ComputeBackend backend;
    final StepSettings settings;
    final int maxBlocksPerSequence;
    final StepInputs inputs;
    final Decoder decoder;
    /** Where steps in flight leave what they drew, one for each. */
    final SampledTokens[] sampled;
    /** Likewise what they tell of likelihoods. */
    final ScoredTokens[] scored;
    private final Duration loadTime;

    private LoadedModel(ModelConfig config, DecoderSpec spec, ComputeBackend backend, StepSettings settings,
            long startNanos) {
        int maxTokens = settings.maxBatchTokens();
        int maxSequences = settings.maxSequences();
        this.config = config;
        this.backend = backend;
        this.settings = settings;
        this.maxBlocksPerSequence = Math.ceilDiv(config.contextLength(), settings.blockSize());
        this.inputs = new StepInputs(
                backend, config.groupWindows().size(), maxTokens, maxSequences,
                maxBlocksPerSequence * settings.kernelBlocksPerBlock(),
                LogitAdjustments.capacity(config.vocabularySize(), maxSequences));
        this.decoder = new Decoder(spec, backend, maxTokens, maxSequences);
        this.sampled = new SampledTokens[settings.maxStepsInFlight()];
        Arrays.setAll(sampled, _ -> new SampledTokens(backend.allocate(DataType.I32, maxSequences, 1),
                backend.allocate(DataType.F32, maxSequences, 1)));
        this.scored = new ScoredTokens[settings.maxStepsInFlight()];
        Arrays.setAll(scored, _ -> ScoredTokens.allocate(backend, settings.maxScoredRows()));
        this.loadTime = Duration.ofNanos(System.nanoTime() - startNanos);
    }

    /**
     * Reads the weights and puts them and what steps need on the device. The backend is closed if that fails.
     * @param config       of this model; its context may be a shorter one
     * @param quantization of its linear layers
     * @param progress     told of bytes of weights, as files have them, when the backend has taken them
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a weight file is broken
     */
    public static LoadedModel load(ModelSource source, ModelConfig config, Quantization quantization,
            ComputeBackend backend, StepSettings settings, LongConsumer progress) throws IOException {
        return load(source, config, backend, settings,
                new WeightUpload(backend, quantization, /* hasValues */ true,
                        tensor -> progress.accept(tensor.values().byteSize())));
    }

    /** The same as it is stored, and nobody watches. */
    public static LoadedModel load(ModelSource source, ModelConfig config, ComputeBackend backend,
            StepSettings settings) throws IOException {
        return load(source, config, Quantization.NONE, backend, settings, _ -> { });
    }

    /** The same of a folder or GGUF file. */
    public static LoadedModel load(Path model, ModelConfig config, ComputeBackend backend, StepSettings settings)
            throws IOException {
        return load(ModelSource.of(model), config, backend, settings);
    }

    static LoadedModel load(ModelSource source, ModelConfig config, ComputeBackend backend, StepSettings settings,
            WeightUpload upload) throws IOException {
        long start = System.nanoTime();
        try {
            DecoderSpec weights = WeightLoader.load(source, config, backend, upload);
            return new LoadedModel(config, weights, backend, settings, start);
        } catch (IOException | RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    /** How long it took to come from its files to the device. */
    public Duration loadTime() {
        return loadTime;
    }

    public ModelConfig config() {
        return config;
    }

    /**
     * Allocates the paged cache. To be called once: steps and results have one place. The backend is closed if that
     * fails.
     * @param blockCount     blocks of the cache, the null block 0 included
     * @param hostBlockCount blocks of swap space; 0 is none
     * @throws dev.warmpath.worker.compute.ComputeException if the device or the host cannot hold them
     */
    public ModelRunner withCache(int blockCount, int hostBlockCount) {
        try {
            return new ModelRunner(this, blockCount, hostBlockCount);
        } catch (RuntimeException e) {
            backend.close();
            throw e;
        }
    }
}
