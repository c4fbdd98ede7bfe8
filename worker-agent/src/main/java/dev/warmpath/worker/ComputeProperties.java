package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.compute.cuda.CudaSettings;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.nio.file.Path;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What computes the model.
 *
 * @param backend {@code auto}: a GPU if there is one, else processors; {@code cuda}: a GPU or no start; {@code vector}:
 *                processors; {@code scalar}: plain loops, slow, for comparison
 * @param cuda            where the GPU and its libraries are found
 * @param threads threads that compute on processors, 0 = one per core: a worker per machine wants all, N workers on one
 *                machine cores ÷ N
 * @param kernelBlockSize tokens per block as the device sees it, a divisor of {@code warmpath.kv.block-size}; 0 = the
 *                        same on processors, on a GPU what its kernels are built for, 16
 * @param warmUp how long made-up requests run before the worker is ready, so that the first real one finds compiled
 *               code; a GPU then prepares for steps of all sizes, which takes seconds and is left out with 0s
 * @param longestStep how long one step may take: beyond it the device counts as hanging and nothing new is taken until
 *                    the step has ended; at twice as long the process ends with status 1, to be started anew. Set it
 *                    higher where a single step takes so long in good order: a slow device with a long prompt and
 *                    {@code warmpath.scheduler.chunked-prefill} off. A router waits no longer than
 *                    {@code warmpath.dispatch.first-token-timeout} for a first token
 */
@Validated
@ConfigurationProperties("warmpath.compute")
public record ComputeProperties(
        @DefaultValue("auto") Backend backend,
        @DefaultValue @Valid Cuda cuda,
        @DefaultValue("0") @Min(0) @Max(1_024) int threads,
        @DefaultValue("0") @Min(0) @Max(HashSettings.MAX_BLOCK_SIZE) int kernelBlockSize,
        @DefaultValue("1s") @DurationMax(seconds = 60) Duration warmUp,
        @DefaultValue("60s") @DurationMin(seconds = 1) @DurationMax(hours = 1) Duration longestStep) {

    /** The kinds of backend. */
    public enum Backend {
        AUTO,
        CUDA,
        VECTOR,
        SCALAR
    }

    /**
     * Which GPU.
     *
     * @param device which GPU: its number by the driver's count, from 0, or its UUID as {@code nvidia-smi -L} lists it,
     *               which stays the same when cards are added or hidden
     * @param driver the driver's library or its folder; unset: {@code libcuda.so.1} where such libraries are
     * @param cublasLt the library of products or its folder; unset: {@code libcublasLt.so} where such libraries are
     */
    public record Cuda(@DefaultValue("0") @Pattern(regexp = CudaSettings.DEVICE) String device, @Nullable Path driver, @Nullable Path cublasLt) {}

    /**
     * Tokens in a block of the device.
     *
     * @param blockSize   of the cache
     * @param builtFor    what the backend's kernels take, 0 = any
     * @throws SettingsException if blocks cannot be cut into the device's
     */
    int kernelBlockSize(int blockSize, int builtFor) {
        if (builtFor > 0 && kernelBlockSize > 0 && kernelBlockSize != builtFor) {
            throw new SettingsException("warmpath.compute.kernel-block-size is " + kernelBlockSize
                    + ", but the kernels of this device take blocks of " + builtFor + " tokens",
                    "Leave it at 0, or compute on processors by warmpath.compute.backend=vector");
        }
        if (builtFor > 0 && blockSize % builtFor != 0) {
            throw new SettingsException("warmpath.kv.block-size is " + blockSize
                    + ", but the kernels of this device take blocks of " + builtFor + " tokens",
                    "Give a multiple of " + builtFor + ", or compute on processors by warmpath.compute.backend=vector");
        }
        if (kernelBlockSize > 0 && blockSize % kernelBlockSize != 0) {
            throw new SettingsException("warmpath.compute.kernel-block-size is " + kernelBlockSize
                    + ", but warmpath.kv.block-size is " + blockSize
                    + ": the cache's blocks cannot be cut into the device's",
                    "Give a divisor of the block size, or 0 for the same");
        }
        return kernelBlockSize > 0 ? kernelBlockSize : builtFor > 0 ? builtFor : blockSize;
    }

    public int threadCount() {
        return threads > 0 ? threads : Runtime.getRuntime().availableProcessors();
    }
}
