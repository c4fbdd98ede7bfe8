package dev.warmpath.worker.metrics;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What never changes while the worker runs: the model, and the cache that it was given.
 *
 * @param model             the model's name, as clients write it
 * @param contextLength     most tokens of prompt and answer together
 * @param loadTime          how long the weights took to come from their files to the device
 * @param blockSize         tokens per block
 * @param blockCount        blocks of the pool, the null block included
 * @param blockCountSetting the number of blocks that the operator gave, null if memory decided
 * @param hostBlockCount    blocks of swap space
 * @param bytesPerBlock     keys and values of all layers
 * @param elementType       of the cache on the device, as {@code float32}
 * @param memoryUtilization share of the memory that the pool was given
 * @param swapSpaceBytes    as the operator gave it
 * @param prefixCaching     whether prefixes are reused
 * @param hashAlgorithm     of block hashes
 */
public record ServedModel(
        String model,
        int contextLength,
        Duration loadTime,
        int blockSize,
        int blockCount,
        @Nullable Integer blockCountSetting,
        int hostBlockCount,
        long bytesPerBlock,
        String elementType,
        double memoryUtilization,
        long swapSpaceBytes,
        boolean prefixCaching,
        String hashAlgorithm) {}
