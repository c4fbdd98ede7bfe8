package dev.warmpath.worker;

import dev.warmpath.worker.KvProperties.CacheDtype;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.kvcache.BlockPoolSize;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * What the cache's settings come to with this model on this device. Settings that contradict each other, the model or
 * the machine stop the start here. A device of its own is asked for its free memory: made before the weights are
 * loaded, the plan finds the contradictions; made after, it says what fits.
 *
 * @param size     the pool's arithmetic
 * @param cache    the pool as the engine takes it
 * @param room     what the device has for it; null if it lies on the heap
 * @param leftOver blocks that the device would hold, too, had the heap room for books on them
 */
record CachePlan(BlockPoolSize size, KvCacheSettings cache, @Nullable DeviceRoom room, long leftOver) {

    /** The null block, which holds no tokens. */
    private static final int NULL_BLOCKS = 1;
    /** What the heap keeps on a block, tokens not counted: hash, key, queues, counts, what was announced. */
    private static final int HEAP_BYTES_PER_BLOCK = 192;
    /** Of a cache on the heap whose size nobody gives, where there is room: a laptop's share. */
    static final DataSize SMALLEST_DEFAULT = DataSize.ofMegabytes(128);
    /** Likewise: of the whole context, at the same time. */
    private static final int CONVERSATIONS = 4;

    /**
     * @param backend asked what a block takes, and what memory of its own is free
     * @param heap    where the cache of processors lies, and the books on any
     * @throws SettingsException if the settings contradict each other
     */
    static CachePlan of(ModelConfig model, ComputeBackend backend, KvProperties kv, SchedulerSettings scheduler,
            HeapRoom heap) {
        CachePlan plan = draft(model, backend, kv, scheduler, heap);
        requireWholePrompts(scheduler, model.contextLength());
        plan.requireRoomForOne(scheduler.mostTokensInFlight(), kv);
        return plan;
    }

    /**
     * Tokens of the longest sequence that the pool holds alone, at most the model's context; parameters as of
     * {@link #of}.
     * @throws SettingsException if the settings contradict each other whatever the context is
     */
    static int longestContext(ModelConfig model, ComputeBackend backend, KvProperties kv, SchedulerSettings scheduler,
            HeapRoom heap) {
        KvCacheSettings cache = draft(model, backend, kv, scheduler, heap).cache;
        return longestFitting(cache, scheduler.mostTokensInFlight());
    }

    private static CachePlan draft(ModelConfig model, ComputeBackend backend, KvProperties kv,
            SchedulerSettings scheduler, HeapRoom heap) {
        requireUse(kv, scheduler);
        CacheShape shape = model.cacheShape(kv.blockSize());
        BlockPoolSize none = pool(shape, backend, 0, kv.memoryUtilizationOrDefault());
        int hostBlockCount = hostBlockCount(none, kv.swapSpace());
        DeviceRoom room = DeviceRoom.of(backend, shape, hostBlockCount);
        KvCacheSettings smallest = cache(NULL_BLOCKS + 1, hostBlockCount, model, kv);
        BlockPoolSize wanted = wanted(none, kv, room != null ? room.bytes()
                : defaultMemory(none, smallest, kv, scheduler, heap));
        BlockPoolSize size = isTakenFrom(room, kv) ? withinHeap(wanted, heap.most()) : wanted;
        if (room == null && kv.isOpen()) {
            requireHeapForSome(size, heap);
        }
        int blockCount = blockCount(size, kv, room);
        requireBlocks(blockCount, backend.mostBlocks(shape));
        if (room != null) {
            requireDeviceMemory(size, room);
        } else {
            requireHeap(size, hostBlockCount * size.bytesPerBlock(), heap);
        }
        return new CachePlan(size, cache(blockCount, hostBlockCount, model, kv), room,
                wanted.blockCount() - size.blockCount());
    }

    private static KvCacheSettings cache(int blockCount, int hostBlockCount, ModelConfig model, KvProperties kv) {
        return KvCacheSettings.of(blockCount, kv.blockSize())
                .withGroups(model.groupWindows().stream().map(CacheGroup::ofWindow).toList())
                .withMaxLength(model.contextLength())
                .withPrefixCaching(kv.prefixCaching())
                .withVerifyTokens(kv.verifyTokens())
                .withFreeOrder(kv.freeOrder())
                .withWatermark(kv.watermark())
                .withHostBlockCount(hostBlockCount);
    }

    /** What the heap keeps on its blocks, wherever they lie. */
    long bookBytes() {
        return size.blockCount() * bookBytes(size);
    }

    /** The whole calculation in one line, for the log. */
    String arithmetic() {
        return arithmetic(size, room);
    }

    private static String arithmetic(BlockPoolSize size, @Nullable DeviceRoom room) {
        return room == null ? size.arithmetic()
                : size.arithmeticOfBlock() + "; " + room.arithmetic() + "; " + size.arithmeticOfPool();
    }

    private static BlockPoolSize pool(CacheShape shape, ComputeBackend backend, long memory, double utilization) {
        CacheType type = backend.cacheType();
        return new BlockPoolSize(shape.blockSize(), shape.kvHeadCount(), shape.headSize(), type.bytes(),
                type.scaleBytes(), shape.layerCount(), memory, utilization);
    }

    /** Whether the pool takes what the device has left: nobody has said how large it is. */
    private static boolean isTakenFrom(@Nullable DeviceRoom room, KvProperties kv) {
        return room != null && kv.memory() == null && kv.blockCount() == null;
    }

    /** @param unset what the pool takes if nobody has said how large it is, in bytes */
    private static BlockPoolSize wanted(BlockPoolSize none, KvProperties kv, long unset) {
        return kv.blockCount() != null ? none.withBlockCount(kv.blockCount())
                : none.withMemory(kv.memory() != null ? kv.memory().toBytes() : unset, kv.memoryUtilizationOrDefault());
    }

    /**
     * What a cache on the heap takes if nobody says, in bytes, whole megabytes: a few conversations of the whole
     * context, but no more than half of what is left, unless it is one conversation that needs more.
     */
    private static long defaultMemory(BlockPoolSize none, KvCacheSettings smallest, KvProperties kv,
            SchedulerSettings scheduler, HeapRoom heap) {
        long left = Math.max(0, heap.left() - kv.swapSpace().toBytes()) / Megabytes.BYTES;
        long one = Megabytes.of(memoryOfOne(none, smallest, kv, scheduler));
        long wanted = Math.max(SMALLEST_DEFAULT.toMegabytes(), CONVERSATIONS * one);
        return Math.min(wanted, Math.max(left / 2, Math.min(one, left))) * Megabytes.BYTES;
    }

    /** What {@code warmpath.kv.memory} must be at least for one sequence of the model's whole context, in bytes. */
    static long leastMemory(ModelConfig model, ComputeBackend backend, KvProperties kv, SchedulerSettings scheduler) {
        return memoryOfOne(pool(model.cacheShape(kv.blockSize()), backend, 0, kv.memoryUtilizationOrDefault()),
                cache(NULL_BLOCKS + 1, 0, model, kv), kv, scheduler);
    }

    private static long memoryOfOne(BlockPoolSize none, KvCacheSettings smallest, KvProperties kv,
            SchedulerSettings scheduler) {
        return memoryOf(smallest.mostBlocks(smallest.maxLength(), scheduler.mostTokensInFlight()) + NULL_BLOCKS, none,
                kv);
    }

    /** What {@code warmpath.kv.memory} must be for so many blocks. */
    private static long memoryOf(long blocks, BlockPoolSize size, KvProperties kv) {
        return (long) Math.ceil(blocks * size.bytesPerBlock() / kv.memoryUtilizationOrDefault());
    }

    /** The blocks of a small model on a large device would be more than the heap has room to keep books on. */
    private static BlockPoolSize withinHeap(BlockPoolSize size, long heap) {
        long most = heap / 4 / bookBytes(size);
        return size.blockCount() <= most ? size : size.withBlockCount((int) most);
    }

    private static long bookBytes(BlockPoolSize size) {
        return HEAP_BYTES_PER_BLOCK + (long) Integer.BYTES * size.blockSize();
    }

    private static int blockCount(BlockPoolSize size, KvProperties kv, @Nullable DeviceRoom room) {
        if (size.blockCount() <= NULL_BLOCKS) {
            throw isTakenFrom(room, kv)
                    ? new SettingsException("the device has no room for a cache of 2 blocks: " + arithmetic(size, room),
                            "End what else runs there, or compute on processors by warmpath.compute.backend=vector")
                    : new SettingsException("warmpath.kv.memory is too small for a cache of 2 blocks: "
                            + size.arithmetic(), "Give the cache more");
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

    private static void requireDeviceMemory(BlockPoolSize size, DeviceRoom room) {
        if (size.bytes() > room.bytes()) {
            throw new SettingsException(String.format(Locale.ROOT,
                    "the KV cache (warmpath.kv.memory or warmpath.kv.block-count) takes %,d bytes, but %s",
                    size.bytes(), room.arithmetic()), "Lower it, or leave both unset to use what is left");
        }
    }

    private static void requireHeapForSome(BlockPoolSize size, HeapRoom heap) {
        if (size.blockCount() <= NULL_BLOCKS) {
            throw new SettingsException(String.format(Locale.ROOT, "the model takes %,d bytes, and there is no room "
                    + "for a KV cache: %s", heap.held(), heap.limit()),
                    heap.remedy(SMALLEST_DEFAULT.toBytes()));
        }
    }

    private static void requireHeap(BlockPoolSize size, long swap, HeapRoom heap) {
        if (!heap.takes(size.bytes() + swap)) {
            throw new SettingsException(String.format(Locale.ROOT, "the model takes %,d bytes, its KV cache %,d "
                    + "(warmpath.kv.memory or warmpath.kv.block-count) and swap space %,d (warmpath.kv.swap-space), "
                    + "but %s", heap.held(), size.bytes(), swap, heap.limit()),
                    heap.remedy(size.bytes() + swap) + ", or give the cache less");
        }
    }

    /** Arrays end somewhere, whatever memory there is. */
    private static void requireBlocks(long blockCount, int most) {
        if (blockCount > most) {
            throw new SettingsException(String.format(Locale.ROOT, "the KV cache (warmpath.kv.memory or "
                    + "warmpath.kv.block-count) has %,d blocks, and what computes here takes %,d of this model",
                    blockCount, most), "Give the cache less");
        }
    }

    /** Otherwise every request that leaves its length open would be refused, one by one. */
    private void requireRoomForOne(int tokensInFlight, KvProperties kv) {
        int context = cache.maxLength();
        long needed = (long) cache.mostBlocks(context, tokensInFlight) + NULL_BLOCKS;
        if (cache.blockCount() < needed) {
            int fits = longestFitting(cache, tokensInFlight);
            throw new SettingsException(String.format(Locale.ROOT,
                    "the pool has %,d blocks of %d tokens, but one sequence of the model's whole context of %,d tokens "
                            + "needs %,d, the null block included; %,d tokens would fit",
                    cache.blockCount(), cache.blockSize(), context, needed, fits),
                    remedy(kv, needed) + (fits < 2 ? "" : ", or cap the context by warmpath.model.context-length="
                            + fits));
        }
    }

    private String remedy(KvProperties kv, long blocks) {
        if (kv.blockCount() != null) {
            return "Give the cache warmpath.kv.block-count=" + blocks;
        }
        long memory = memoryOf(blocks, size, kv);
        if (!isTakenFrom(room, kv)) {
            return "Give the cache warmpath.kv.memory=" + Megabytes.of(memory) + "MB or more";
        }
        if (leftOver > 0) {
            return "Start it with -Xmx" + Megabytes.of(4.0 * blocks * bookBytes(size))
                    + "m or more: books on the pool's blocks take up to a quarter of the heap";
        }
        return "The model must leave " + Megabytes.of(memory + room.beside()) + "MB of the device's memory: end what "
                + "else runs there, raise warmpath.kv.memory-utilization"
                + (kv.cacheDtype() == CacheDtype.FP8 ? ""
                        : ", or nearly halve the cache by warmpath.kv.cache-dtype=fp8");
    }

    /** The longest sequence that the pool holds alone, found by halving: a longer one needs no fewer blocks. */
    private static int longestFitting(KvCacheSettings cache, int tokensInFlight) {
        int fits = 0;
        long tooLong = cache.maxLength() + 1L;
        while (tooLong - fits > 1) {
            int length = (int) ((fits + tooLong) / 2);
            if (cache.mostBlocks(length, tokensInFlight) + NULL_BLOCKS <= cache.blockCount()) {
                fits = length;
            } else {
                tooLong = length;
            }
        }
        return fits;
    }
}
