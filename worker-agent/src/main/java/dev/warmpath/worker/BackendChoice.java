package dev.warmpath.worker;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackend;
import dev.warmpath.worker.compute.cuda.CudaSettings;
import dev.warmpath.worker.compute.cuda.CudaUnavailableException;
import dev.warmpath.worker.model.LayerShape;
import dev.warmpath.worker.model.ModelConfig;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Which backend computes. Its choice is one line in the log: the device, or why it is none; a warning where there is
 * one that is not used though nobody has said so.
 *
 * @param kv    how the operator wants keys and values kept
 * @param model what the device must have kernels for
 */
record BackendChoice(ComputeProperties compute, KvProperties kv, ModelConfig model) {

    private static final Logger log = LoggerFactory.getLogger(BackendChoice.class);

    /** @throws SettingsException if what the operator demands cannot be had here */
    ComputeBackend open() {
        return switch (compute.backend()) {
            case VECTOR -> onVectorUnit("warmpath.compute.backend is vector", Level.INFO);
            case SCALAR -> {
                String reason = "warmpath.compute.backend is scalar";
                yield onProcessors(new ScalarBackend(typeOnProcessors(reason)), 1, reason, Level.INFO);
            }
            case CUDA -> demanded();
            case AUTO -> found();
        };
    }

    private ComputeBackend demanded() {
        try {
            return onDevice();
        } catch (CudaUnavailableException e) {
            throw new SettingsException("warmpath.compute.backend is cuda, but " + e.getMessage(),
                    "Put that right, or compute on processors by warmpath.compute.backend=vector");
        }
    }

    private ComputeBackend found() {
        try {
            return onDevice();
        } catch (CudaUnavailableException e) {
            return onVectorUnit(e.getMessage(), e.isForWantOfDevice() ? Level.INFO : Level.WARN);
        } catch (SettingsException e) {
            return onVectorUnit(e.contradiction(), Level.WARN);
        }
    }

    private ComputeBackend onDevice() throws CudaUnavailableException {
        ComputeProperties.Cuda cuda = compute.cuda();
        var backend = CudaBackend.open(new CudaSettings(cuda.device(), cuda.driver(), cuda.cublasLt()),
                typeOnDevice());
        try {
            requireKernels(backend);
        } catch (SettingsException e) {
            backend.close();
            throw e;
        }
        log.info("computing on {}", backend.describe());
        return backend;
    }

    private CacheType typeOnDevice() {
        return switch (kv.cacheDtype()) {
            case AUTO, BFLOAT16 -> CacheType.BF16;
            case FP8 -> CacheType.FP8_E4M3;
        };
    }

    private void requireKernels(ComputeBackend backend) {
        compute.kernelBlockSize(kv.blockSize(), backend.kernelBlockSize());
        for (LayerShape layer : Set.copyOf(model.layers())) {
            String lack = backend.lack(model.cacheShape(kv.blockSize()), model.headCount(), layer.rotation().size(),
                    layer.attention(), model.hiddenSize(), model.intermediateSize());
            if (lack != null) {
                throw new SettingsException("the model's " + lack, "Compute it on processors by "
                        + "warmpath.compute.backend=vector");
            }
        }
    }

    private ComputeBackend onVectorUnit(String reason, Level level) {
        return onProcessors(new VectorBackend(compute.threadCount(), typeOnProcessors(reason)), compute.threadCount(),
                reason, level);
    }

    private CacheType typeOnProcessors(String reason) {
        return switch (kv.cacheDtype()) {
            case AUTO -> CacheType.F32;
            case BFLOAT16 -> CacheType.BF16;
            case FP8 -> throw new SettingsException("warmpath.kv.cache-dtype is fp8, but processors compute here, "
                    + "which keep keys and values as float32 or bfloat16: " + reason,
                    "Leave the type at auto, take bfloat16, or compute on a GPU");
        };
    }

    private static ComputeBackend onProcessors(ComputeBackend backend, int threads, String reason, Level level) {
        log.atLevel(level).log("computing on processors ({}, {} threads): {}", backend.name(), threads, reason);
        return backend;
    }
}
