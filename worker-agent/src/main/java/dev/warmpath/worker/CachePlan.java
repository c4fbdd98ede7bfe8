package dev.warmpath.worker;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.kvcache.BlockPoolSize;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.Locale;
import org.springframework.util.unit.DataSize;

/**
 * What the cache's settings come to with this model on this device. Settings that contradict each other, the model or
 * the machine stop the start here, before the weights are loaded.
 *
 * @param size  the pool's arithmetic
 * @param cache the pool as the engine takes it
 */
record CachePlan(BlockPoolSize size, KvCacheSettings cache) {

    /** The null block, which holds no tokens. */
    private static final int NULL_BLOCKS = 1;

    /**
     * @param backend asked what a block takes
     * @param heap    most that this JVM's heap can grow to, in bytes; the cache of processors lies there
     * @throws SettingsException if the settings contradict each other
     */
    static CachePlan of(ModelConfig model, ComputeBackend backend, KvProperties kv, SchedulerSettings scheduler,
            long heap) {
        BlockPoolSize size = size(model.cacheShape(kv.blockSize()), backend, kv);
        KvCacheSettings cache = KvCacheSettings.of(blockCount(size), kv.blockSize())
                .withMaxLength(model.contextLength())
                .withPrefixCaching(kv.prefixCaching())
                .withVerifyTokens(kv.verifyTokens())
                .withFreeOrder(kv.freeOrder())
                .withWatermark(kv.watermark())
                .withHostBlockCount(hostBlockCount(size, kv.swapSpace()));
        requireUse(kv, scheduler);
        requireWholePrompts(scheduler, model.contextLength());
        requireHeap(size, cache, heap);
        requireRoomForOne(size, cache, scheduler.mostTokensInFlight(), kv);
        return new CachePlan(size, cache);
    }

    private static BlockPoolSize size(CacheShape shape, ComputeBackend backend, KvProperties kv) {
        long elements = 2L * shape.layerCount() * shape.blockElements();
        int elementBytes = Math.toIntExact(backend.bytesPerBlock(shape) / elements);
        var size = new BlockPoolSize(shape.blockSize(), shape.kvHeadCount(), shape.headSize(), elementBytes,
                shape.layerCount(), kv.memoryOrDefault().toBytes(), kv.memoryUtilizationOrDefault());
        return kv.blockCount() == null ? size : size.withBlockCount(kv.blockCount());
    }

    private static int blockCount(BlockPoolSize size) {
        if (size.blockCount() <= NULL_BLOCKS) {
            throw new SettingsException("warmpath.kv.memory is too small for a cache of 2 blocks: " + size.arithmetic(),
                    "Give the cache more");
        }
        if (size.tokenCount() > Integer.MAX_VALUE) {
            throw new SettingsException("warmpath.kv.memory or warmpath.kv.block-count is too large for a cache of at "
                    + "most " + Integer.MAX_VALUE + " tokens: " + size.arithmetic(), "Give the cache less");
        }
        return (int) size.blockCount();
    }

    private static int hostBlockCount(BlockPoolSize size, DataSize swapSpace) {
        long blocks = size.withMemory(swapSpace.toBytes()).blockCount();
        if (blocks == 0 && swapSpace.toBytes() > 0) {
            throw new SettingsException("warmpath.kv.swap-space is " + swapSpace + ", but one block of "
                    + size.blockSize() + " tokens, warmpath.kv.block-size, takes " + size.bytesPerBlock() + " bytes",
                    "Give swap space for several blocks, or 0 for none");
        }
        return Math.toIntExact(Math.min(blocks, Integer.MAX_VALUE / size.blockSize()));
    }

    private static void requireUse(KvProperties kv, SchedulerSettings scheduler) {
        if (scheduler.cacheAwareWindow() > 0 && !kv.prefixCaching()) {
            throw new SettingsException("warmpath.scheduler.cache-aware-window is " + scheduler.cacheAwareWindow()
                    + ", but warmpath.kv.prefix-caching is false: nobody's prefix is ever cached",
                    "Leave the window at 0, or turn prefix caching on");
        }
    }

    private static void requireWholePrompts(SchedulerSettings scheduler, int contextLength) {
        if (!scheduler.chunkedPrefill() && scheduler.maxBatchedTokens() < contextLength) {
            throw new SettingsException("warmpath.scheduler.chunked-prefill is false, and"
                    + " warmpath.scheduler.max-num-batched-tokens is " + scheduler.maxBatchedTokens()
                    + ", but the model's context is " + contextLength
                    + ": a prompt that does not fit into one step would never be computed",
                    "Turn chunked prefill on, or give a step " + contextLength + " tokens");
        }
    }

    private static void requireHeap(BlockPoolSize size, KvCacheSettings cache, long heap) {
        long swap = cache.hostBlockCount() * size.bytesPerBlock();
        if (size.bytes() + swap >= heap) {
            throw new SettingsException(String.format(Locale.ROOT,
                    "the KV cache (warmpath.kv.memory or .block-count) takes %,d bytes and its swap space "
                            + "(warmpath.kv.swap-space) %,d, but this JVM's heap, where they lie, grows to %,d only",
                    size.bytes(), swap, heap),
                    "Start it with a larger -Xmx, or lower one of the two");
        }
    }

    /** Otherwise every request that leaves its length open would be refused, one by one. */
    private static void requireRoomForOne(BlockPoolSize size, KvCacheSettings cache, int tokensInFlight,
            KvProperties kv) {
        int context = cache.maxLength();
        long needed = (long) cache.mostBlocks(context, tokensInFlight) + NULL_BLOCKS;
        if (cache.blockCount() < needed) {
            long bytes = needed * size.bytesPerBlock();
            throw new SettingsException(String.format(Locale.ROOT,
                    "the pool has %,d blocks of %d tokens, but one sequence of the model's whole context of %,d tokens "
                            + "needs %,d, the null block included; about %,d tokens would fit",
                    cache.blockCount(), cache.blockSize(), context, needed, longestFitting(cache, tokensInFlight)),
                    "Give the cache " + (kv.blockCount() != null
                            ? "warmpath.kv.block-count=" + needed
                            : "warmpath.kv.memory=" + ceilMegabytes(bytes / kv.memoryUtilizationOrDefault())
                                    + "MB or more"));
        }
    }

    /** The longest sequence that the pool holds alone, found by halving: a longer one needs no fewer blocks. */
    private static int longestFitting(KvCacheSettings cache, int tokensInFlight) {
        int fits = 0;
        int tooLong = cache.maxLength();
        while (tooLong - fits > 1) {
            int length = (fits + tooLong) >>> 1;
            if (cache.mostBlocks(length, tokensInFlight) + NULL_BLOCKS <= cache.blockCount()) {
                fits = length;
            } else {
                tooLong = length;
            }
        }
        return fits;
    }

    private static long ceilMegabytes(double bytes) {
        return (long) Math.ceil(bytes / DataSize.ofMegabytes(1).toBytes());
    }
}
