package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.kvcache.FreeOrder;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * The paged KV cache. Its size is given as memory, or as a number of blocks, not as both.
 *
 * @param memory what the cache may take; unset: on processors a part of what the model leaves of the heap, on a GPU all
 *               that it leaves free
 * @param memoryUtilization share of the memory that is used, above 0 and at most 1
 * @param blockCount blocks of the pool, the null block included, instead of {@code memory} and
 *                   {@code memory-utilization}; unset: as many as the memory holds
 * @param blockSize tokens per block; a part of the model's revision
 * @param cacheDtype how keys and values are kept: {@code auto} as the backend computes them; {@code bfloat16} in two
 *                   bytes each, which a GPU does anyhow; {@code fp8} in one byte an element and four bytes of scale for
 *                   each key and value of a head, on a GPU only
 * @param swapSpace host memory for blocks of preempted sequences; 0: they are computed again
 * @param hashSeed text that block hashes start from; a part of the model's revision
 * @param prefixCaching reuse prefixes; false: nothing is ever reused
 * @param verifyTokens a hit must have equal token ids, not only an equal 32-byte hash
 * @param freeOrder which free block is taken next; {@code release-order} is vLLM's rule of before June 2026
 * @param watermark share of the pool that a new sequence leaves free while others run, 0 to below 1
 */
@Validated
@ConfigurationProperties("warmpath.kv")
public record KvProperties(
        @Nullable DataSize memory,
        @Nullable Double memoryUtilization,
        @Nullable @Min(2) @Max(1 << 24) Integer blockCount,
        @DefaultValue("" + HashSettings.DEFAULT_BLOCK_SIZE) @Min(1) @Max(HashSettings.MAX_BLOCK_SIZE) int blockSize,
        @DefaultValue("auto") CacheDtype cacheDtype,
        @DefaultValue("0B") DataSize swapSpace,
        @DefaultValue(HashSettings.DEFAULT_SEED) String hashSeed,
        @DefaultValue("true") boolean prefixCaching,
        @DefaultValue("true") boolean verifyTokens,
        @DefaultValue("unkeyed-first") FreeOrder freeOrder,
        @DefaultValue("0") double watermark) {

    /** How keys and values are kept; the name of the setting is vLLM's. */
    public enum CacheDtype {
        /** As the backend computes them. */
        AUTO,
        /** Two bytes, eight significant bits: half the memory and traffic of float32. A GPU keeps them so anyhow. */
        BFLOAT16,
        /**
         * An element in one byte, e4m3, and a scale for each key and value of a head: little more than half the memory
         * and traffic of bfloat16, and coarser answers. Only on a GPU.
         */
        FP8
    }

    private static final double DEFAULT_MEMORY_UTILIZATION = 0.9;

    public KvProperties {
        if (blockCount != null && (memory != null || memoryUtilization != null)) {
            throw new SettingsException("warmpath.kv.block-count is " + blockCount + ", and warmpath.kv."
                    + (memory != null ? "memory is " + memory : "memory-utilization is " + memoryUtilization)
                    + ": the cache's size is given either as blocks or as memory, not as both",
                    "Remove one of the two");
        }
        // written so that NaN fails, too
        if (memoryUtilization != null && !(memoryUtilization > 0 && memoryUtilization <= 1)) {
            throw new SettingsException("warmpath.kv.memory-utilization is " + memoryUtilization
                    + ", but it is a share of the memory", "Give a number above 0 and at most 1");
        }
        if (memory != null && memory.isNegative() || swapSpace.isNegative()) {
            throw new SettingsException("warmpath.kv.memory is " + memory + " and warmpath.kv.swap-space "
                    + swapSpace + ": no memory is negative", "Give a size such as 512MB");
        }
        if (!(watermark >= 0 && watermark < 1)) {
            throw new SettingsException("warmpath.kv.watermark is " + watermark
                    + ", but it is the share of blocks to leave free", "Give a number from 0 to below 1");
        }
    }

    /** Whether the cache's size is left open. */
    boolean isOpen() {
        return memory == null && blockCount == null;
    }

    KvProperties withMemory(DataSize size) {
        return new KvProperties(size, memoryUtilization, blockCount, blockSize, cacheDtype, swapSpace, hashSeed,
                prefixCaching, verifyTokens, freeOrder, watermark);
    }

    double memoryUtilizationOrDefault() {
        return memoryUtilization == null ? DEFAULT_MEMORY_UTILIZATION : memoryUtilization;
    }

    public HashSettings hashSettings() {
        return new HashSettings(HashSettings.SHA256_CBOR, hashSeed, blockSize);
    }
}
