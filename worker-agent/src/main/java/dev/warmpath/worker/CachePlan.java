package dev.warmpath.worker;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.kvcache.BlockPoolSize;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.Locale;
import java.util.OptionalLong;
import org.springframework.util.unit.DataSize;

/**
 * What the cache's settings come to with this model on this device. Settings that contradict each other, the model or
 * the machine stop the start here. A device of its own is asked for its free memory: made before the weights are
 * loaded, the plan finds the contradictions; made after, it says what fits.
 *
 * @param size  the pool's arithmetic
 * @param cache the pool as the engine takes it
 */
record CachePlan(BlockPoolSize size, KvCacheSettings cache) {

    /** The null block, which holds no tokens. */
    private static final int NULL_BLOCKS = 1;
    /** What the heap keeps on a block, tokens not counted: hash, key, queues, counts, what was announced. */
    private static final int HEAP_BYTES_PER_BLOCK = 192;

    /**
     * @param backend asked what a block takes, and what memory of its own is free
     * @param heap    most that this JVM's heap can grow to, in bytes; the cache of processors lies there
     * @throws SettingsException if the settings contradict each other
     */
    static CachePlan of(ModelConfig model, ComputeBackend backend, KvProperties kv, SchedulerSettings scheduler,
            long heap) {
        requireKernels(model, backend, kv);
        OptionalLong free = backend.freeMemory();
        BlockPoolSize size = size(model.cacheShape(kv.blockSize()), backend, kv, free, heap);
        KvCacheSettings cache = KvCacheSettings.of(blockCount(size), kv.blockSize())
                .withMaxLength(model.contextLength())
                .withPrefixCaching(kv.prefixCaching())
                .withVerifyTokens(kv.verifyTokens())
                .withFreeOrder(kv.freeOrder())
                .withWatermark(kv.watermark())
                .withHostBlockCount(hostBlockCount(size, kv.swapSpace()));
        requireUse(kv, scheduler);
        requireWholePrompts(scheduler, model.contextLength());
        if (free.isPresent()) {
            requireDeviceMemory(size, free.getAsLong());
        } else {
            requireHeap(size, cache, heap);
        }
        requireRoomForOne(size, cache, scheduler.mostTokensInFlight(), kv, free);
        return new CachePlan(size, cache);
    }

    private static void requireKernels(ModelConfig model, ComputeBackend backend, KvProperties kv) {
        String lack = backend.lack(model.cacheShape(kv.blockSize()), model.headCount(), model.hiddenSize(),
                model.intermediateSize());
        if (lack != null) {
            throw new SettingsException("the model's " + lack, "Compute it on processors by "
                    + "warmpath.compute.backend=vector");
        }
    }

    private static BlockPoolSize size(CacheShape shape, ComputeBackend backend, KvProperties kv, OptionalLong free,
            long heap) {
        long memory = kv.memory() != null ? kv.memory().toBytes() : free.orElse(KvProperties.DEFAULT_MEMORY.toBytes());
        var size = new BlockPoolSize(shape.blockSize(), shape.kvHeadCount(), shape.headSize(),
                backend.cacheType().bytes(), shape.layerCount(), memory, kv.memoryUtilizationOrDefault());
        if (kv.blockCount() != null) {
            return size.withBlockCount(kv.blockCount());
        }
        return kv.memory() == null && free.isPresent() ? withinHeap(size, heap) : size;
    }

    /** The blocks of a small model on a large device would be more than the heap has room to keep books on. */
    private static BlockPoolSize withinHeap(BlockPoolSize size, long heap) {
        long most = heap / 4 / (HEAP_BYTES_PER_BLOCK + (long) Integer.BYTES * size.blockSize());
        return size.blockCount() <= most ? size : size.withBlockCount((int) most);
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

    private static void requireDeviceMemory(BlockPoolSize size, long free) {
        if (size.bytes() > free) {
            throw new SettingsException(String.format(Locale.ROOT,
                    "the KV cache (warmpath.kv.memory or .block-count) takes %,d bytes, but the device has %,d left",
                    size.bytes(), free), "Lower it, or leave both unset to use what is left");
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
            KvProperties kv, OptionalLong free) {
        int context = cache.maxLength();
        long needed = (long) cache.mostBlocks(context, tokensInFlight) + NULL_BLOCKS;
        if (cache.blockCount() < needed) {
            throw new SettingsException(String.format(Locale.ROOT,
                    "the pool has %,d blocks of %d tokens, but one sequence of the model's whole context of %,d tokens "
                            + "needs %,d, the null block included; about %,d tokens would fit",
                    cache.blockCount(), cache.blockSize(), context, needed, longestFitting(cache, tokensInFlight)),
                    remedy(kv, needed, needed * size.bytesPerBlock(), free.isPresent()));
        }
    }

    private static String remedy(KvProperties kv, long blocks, long bytes, boolean device) {
        if (kv.blockCount() != null) {
            return "Give the cache warmpath.kv.block-count=" + blocks;
        }
        long megabytes = ceilMegabytes(bytes / kv.memoryUtilizationOrDefault());
        return kv.memory() != null || !device ? "Give the cache warmpath.kv.memory=" + megabytes + "MB or more"
                : "The model must leave " + megabytes + "MB of the device's memory: end what else runs there, raise "
                        + "warmpath.kv.memory-utilization, or halve the cache by warmpath.kv.cache-dtype=fp8";
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
