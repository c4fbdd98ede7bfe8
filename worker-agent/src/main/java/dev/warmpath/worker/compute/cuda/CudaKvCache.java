package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.KvCache;
import org.jspecify.annotations.Nullable;

/**
 * The paged cache on the card, one allocation, and what is shaped by it: its kernels, and room for the partial results
 * of attention over it.
 * <pre>
 *   [plane][block]                                  plane 2·layer: keys, 2·layer + 1: values
 *     elements   [kvHead][16 tokens][headSize]
 *     scales     [kvHead][16 tokens], float32         of fp8 only
 * </pre>
 * A head's part of a block is one run, so that it is gathered with wide copies. Scales are a part of their block:
 * whatever copies it copies them.
 */
final class CudaKvCache implements KvCache {

    final CudaDevice device;
    final DevicePointer memory;
    final int planeCount;
    /** Of one block in one plane. */
    final int blockPlaneBytes;
    final CacheKernels kernels;
    /** F32 [partials, queryHeads, headSize] and [partials, queryHeads, 2]. */
    final DevicePointer partialOutputs;
    final DevicePointer partialStats;
    private final CacheShape shape;
    private final int blockCount;
    private final DevicePointer[] planes;
    private final @Nullable SwapStream swap;

    private CudaKvCache(CudaDevice device, Memory memory, CacheShape shape, CacheType type, int blockCount,
            @Nullable SwapStream swap) {
        this.device = device;
        this.memory = memory.blocks();
        this.partialOutputs = memory.partialOutputs();
        this.partialStats = memory.partialStats();
        this.shape = shape;
        this.blockCount = blockCount;
        this.swap = swap;
        planeCount = 2 * shape.layerCount();
        blockPlaneBytes = blockPlaneBytes(shape, type);
        kernels = CacheKernels.of(device, type, shape.headSize());
        planes = new DevicePointer[planeCount];
        long planeBytes = (long) blockCount * blockPlaneBytes;
        for (int plane = 0; plane < planeCount; plane++) {
            planes[plane] = this.memory.plus(plane * planeBytes, planeBytes);
        }
    }

    private record Memory(DevicePointer blocks, DevicePointer partialOutputs, DevicePointer partialStats) {
    }

    /**
     * A cache of undefined content.
     * @param partialCapacity partial results of the largest step
     * @throws dev.warmpath.worker.compute.ComputeException if card or host cannot hold it; nothing is kept then
     */
    static CudaKvCache allocate(CudaDevice device, CacheShape shape, CacheType type, int blockCount,
            int hostBlockCount, int partialCapacity) {
        KernelSizes.requireCache(shape);
        try (var reservation = new Reservation(device)) {
            var memory = new Memory(
                    reservation.allocate(blockCount * blockBytes(shape, type), "the KV cache"),
                    reservation.allocate(partialOutputBytes(shape, partialCapacity), "partial attention"),
                    reservation.allocate(partialStatBytes(shape, partialCapacity), "partial attention"));
            SwapStream swap = hostBlockCount == 0 ? null
                    : SwapStream.open(device, reservation, hostBlockCount, blockBytes(shape, type));
            var cache = new CudaKvCache(device, memory, shape, type, blockCount, swap);
            reservation.keep();
            return cache;
        }
    }

    /** Device memory that {@link #allocate} takes besides the blocks themselves. */
    static long bytesBesideBlocks(CacheShape shape, CacheType type, int hostBlockCount, int partialCapacity) {
        long partials = partialOutputBytes(shape, partialCapacity) + partialStatBytes(shape, partialCapacity);
        return hostBlockCount == 0 ? partials
                : partials + SwapStream.deviceBytes(hostBlockCount, blockBytes(shape, type));
    }

    private static long partialOutputBytes(CacheShape shape, int partialCapacity) {
        return partialHeads(shape, partialCapacity) * shape.headSize() * Float.BYTES;
    }

    /** A maximum and a sum each. */
    private static long partialStatBytes(CacheShape shape, int partialCapacity) {
        return partialHeads(shape, partialCapacity) * 2 * Float.BYTES;
    }

    private static long partialHeads(CacheShape shape, int partialCapacity) {
        return (long) partialCapacity * KernelSizes.DECODE_ROWS * shape.kvHeadCount();
    }

    private static int blockPlaneBytes(CacheShape shape, CacheType type) {
        int scales = shape.kvHeadCount() * shape.blockSize() * type.scaleBytes();
        return Math.addExact(Math.multiplyExact(shape.blockElements(), type.bytes()), scales);
    }

    /** Keys and values of all layers, and their scales. */
    static long blockBytes(CacheShape shape, CacheType type) {
        return 2L * shape.layerCount() * blockPlaneBytes(shape, type);
    }

    DevicePointer keys(int layer) {
        return planes[2 * layer];
    }

    DevicePointer values(int layer) {
        return planes[2 * layer + 1];
    }

    /** Bytes from a block to the same block in the next plane. */
    long planeStride() {
        return planes[0].bytes();
    }

    /** The way to the host tier; null if there is none. */
    @Nullable SwapStream swap() {
        return swap;
    }

    @Override
    public CacheShape shape() {
        return shape;
    }

    @Override
    public int blockCount() {
        return blockCount;
    }

    @Override
    public int hostBlockCount() {
        return swap == null ? 0 : swap.blockCount();
    }
}
