package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;

/**
 * A cache's host tier and the way there: pinned memory, a stream of its own, and two regions of the card in which
 * blocks are contiguous on their way. Leaving blocks are gathered into a region by the steps' stream and copied out by
 * this one while later steps run; returning ones are copied in by this stream and scattered by the steps'.
 * <pre>
 *   cache (by planes) ⇄ region [block][plane] ⇄ host tier [block][plane]
 *            steps' stream          swap stream
 * </pre>
 * All traffic of the host tier is in order on this stream. A region is taken again once its event is passed.
 */
final class SwapStream {

    private static final int REGIONS = 2;
    private static final long REGION_BYTES = 32L << 20;

    /**
     * Room for blocks on their way.
     * @param filled by the stream that put blocks in
     * @param free   by the stream that took them out
     */
    record Region(DevicePointer memory, CudaEvent filled, CudaEvent free) {
    }

    private final CudaStream stream;
    private final MemorySegment host;
    private final Region[] regions;
    private final int blockCount;
    private final long blockBytes;
    private int next;

    private SwapStream(CudaStream stream, MemorySegment host, Region[] regions, int blockCount, long blockBytes) {
        this.stream = stream;
        this.host = host;
        this.regions = regions;
        this.blockCount = blockCount;
        this.blockBytes = blockBytes;
    }

    /** A host tier of undefined content: to fill it would delay the start. @param reservation takes what is made */
    static SwapStream open(CudaDevice device, Reservation reservation, int blockCount, long blockBytes) {
        long regionBytes = regionBytes(blockCount, blockBytes);
        var regions = new Region[REGIONS];
        for (int i = 0; i < regions.length; i++) {
            regions[i] = new Region(reservation.allocate(regionBytes, "blocks on their way to and from the host"),
                    reservation.with(device.newEvent(false)), reservation.with(device.newEvent(false)));
        }
        MemorySegment host = reservation.with(device.allocatePinned(blockCount * blockBytes, "swap space")).segment();
        return new SwapStream(reservation.with(device.newStream()), host, regions, blockCount, blockBytes);
    }

    /** Memory of the card that a host tier takes. */
    static long deviceBytes(int blockCount, long blockBytes) {
        return REGIONS * regionBytes(blockCount, blockBytes);
    }

    private static long regionBytes(int blockCount, long blockBytes) {
        return Math.clamp(REGION_BYTES / blockBytes, 1, blockCount) * blockBytes;
    }

    int blockCount() {
        return blockCount;
    }

    /** Blocks that a region holds. */
    int regionBlocks() {
        return (int) (regions[0].memory().bytes() / blockBytes);
    }

    /** The region that was used least recently; whoever fills it waits for {@link Region#free}. */
    Region nextRegion() {
        next = (next + 1) % regions.length;
        return regions[next];
    }

    /** Enqueues copies of a filled region's leading blocks to blocks of the host tier. */
    void copyOut(Region region, int[] hostBlocks, int count) {
        stream.waitFor(region.filled());
        for (int from = 0; from < count; ) {
            int run = run(hostBlocks, from, count);
            stream.copyToHost(part(region, from, run), part(hostBlocks[from], run));
            from += run;
        }
        stream.record(region.free());
    }

    /** Enqueues copies of blocks of the host tier to the leading blocks of a region. */
    void copyIn(Region region, int[] hostBlocks, int count) {
        stream.waitFor(region.free());
        for (int from = 0; from < count; ) {
            int run = run(hostBlocks, from, count);
            stream.copyToDevice(part(hostBlocks[from], run), part(region, from, run));
            from += run;
        }
        stream.record(region.filled());
    }

    /** Blocks from index {@code from} on that follow each other: they travel as one, which is faster. */
    private static int run(int[] blocks, int from, int count) {
        int length = 1;
        while (from + length < count && blocks[from + length] == blocks[from] + length) {
            length++;
        }
        return length;
    }

    private DevicePointer part(Region region, int firstBlock, int count) {
        return region.memory().plus(firstBlock * blockBytes, count * blockBytes);
    }

    private MemorySegment part(int firstHostBlock, int count) {
        return host.asSlice(firstHostBlock * blockBytes, count * blockBytes);
    }

    void synchronize() {
        stream.synchronize();
    }
}
