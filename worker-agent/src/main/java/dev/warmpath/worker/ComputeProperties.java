package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What computes the model.
 *
 * @param backend         {@code vector}: the processor's vector unit; {@code scalar}: plain loops, slow, for comparison
 * @param threads         that compute, 0 = one per core
 * @param kernelBlockSize tokens of a block on the device, a divisor of {@code warmpath.kv.block-size}; 0 = the same
 * @param warmUp          how long made-up requests run at start, so that the first real one finds compiled code
 */
@Validated
@ConfigurationProperties("warmpath.compute")
public record ComputeProperties(
        @DefaultValue("vector") Backend backend,
        @DefaultValue("0") @Min(0) @Max(1_024) int threads,
        @DefaultValue("0") @Min(0) @Max(HashSettings.MAX_BLOCK_SIZE) int kernelBlockSize,
        @DefaultValue("1s") @DurationMax(seconds = 60) Duration warmUp) {

    /** The kinds of backend. */
    public enum Backend {
        VECTOR,
        SCALAR
    }

    /** @throws SettingsException if blocks cannot be cut into the device's */
    int kernelBlockSize(int blockSize) {
        if (kernelBlockSize > 0 && blockSize % kernelBlockSize != 0) {
            throw new SettingsException("warmpath.compute.kernel-block-size is " + kernelBlockSize
                    + ", but warmpath.kv.block-size is " + blockSize
                    + ": the cache's blocks cannot be cut into the device's",
                    "Give a divisor of the block size, or 0 for the same");
        }
        return kernelBlockSize > 0 ? kernelBlockSize : blockSize;
    }

    public int threadCount() {
        return threads > 0 ? threads : Runtime.getRuntime().availableProcessors();
    }
}
