package dev.warmpath.worker;

import dev.warmpath.worker.KvProperties.CacheDtype;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackend;
import dev.warmpath.worker.compute.cuda.CudaSettings;
import dev.warmpath.worker.compute.cuda.CudaUnavailableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which backend computes. Its choice is one line in the log: the device, or why there is none.
 *
 * @param cacheDtype as the operator wants keys and values kept
 */
record BackendChoice(ComputeProperties compute, CacheDtype cacheDtype) {

    private static final Logger log = LoggerFactory.getLogger(BackendChoice.class);

    /** @throws SettingsException if what the operator demands cannot be had here */
    ComputeBackend open() {
        return switch (compute.backend()) {
            case VECTOR -> onVectorUnit("warmpath.compute.backend is vector");
            case SCALAR -> onProcessors(new ScalarBackend(), 1, "warmpath.compute.backend is scalar");
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
            return onVectorUnit(e.getMessage());
        }
    }

    private ComputeBackend onDevice() throws CudaUnavailableException {
        ComputeProperties.Cuda cuda = compute.cuda();
        var backend = CudaBackend.open(new CudaSettings(cuda.device(), cuda.driver(), cuda.cublasLt()),
                cacheDtype == CacheDtype.FP8 ? CacheType.FP8_E4M3 : CacheType.BF16);
        log.info("computing on {}", backend.describe());
        return backend;
    }

    private ComputeBackend onVectorUnit(String reason) {
        return onProcessors(new VectorBackend(compute.threadCount()), compute.threadCount(), reason);
    }

    private ComputeBackend onProcessors(ComputeBackend backend, int threads, String reason) {
        if (cacheDtype == CacheDtype.FP8) {
            backend.close();
            throw new SettingsException("warmpath.kv.cache-dtype is fp8, but processors compute here, which keep keys "
                    + "and values as float32: " + reason, "Leave the type at auto, or compute on a GPU");
        }
        log.info("computing on processors ({}, {} threads): {}", backend.name(), threads, reason);
        return backend;
    }
}
