package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CopyDirection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;

/**
 * Copies whole blocks as if pair after pair. One kernel copies all pairs of a launch at once, so they are cut into runs
 * in which no block is the target of one pair and anything of another; the stream keeps runs in order.
 */
final class BlockCopier {

    private static final int MAX_PAIRS = 4096;

    private final CudaStream stream;
    private final Staging staging;
    private final Kernel copyBlocks;
    /** Of the run that is being collected: int32 [pairs, 2] as the kernel reads them, and what they touch. */
    private final MemorySegment pairs = Arena.ofAuto().allocate(ValueLayout.JAVA_INT, 2L * MAX_PAIRS);
    private final int[] hostBlocks = new int[MAX_PAIRS];
    private final BitSet sources = new BitSet();
    private final BitSet targets = new BitSet();
    private int count;

    /** @param stream of the steps */
    BlockCopier(CudaDevice device, CudaStream stream, Staging staging) {
        this.stream = stream;
        this.staging = staging;
        copyBlocks = device.kernel("wp_copy_blocks");
    }

    /** Blocks in one plane and planes of one block, in bytes from one to the next. */
    private record Place(DevicePointer memory, long blockStride, long planeStride) {

        static Place of(CudaKvCache cache) {
            return new Place(cache.memory, cache.blockPlaneBytes, cache.planeStride());
        }

        static Place of(SwapStream.Region region, CudaKvCache cache) {
            return new Place(region.memory(), (long) cache.planeCount * cache.blockPlaneBytes, cache.blockPlaneBytes);
        }
    }

    /** Enqueues the copies; the mapping has been checked. */
    void copy(CudaKvCache cache, BlockMapping mapping, CopyDirection direction) {
        forgetRun();
        switch (direction) {
            case DEVICE_TO_DEVICE -> copyWithin(cache, mapping);
            case DEVICE_TO_HOST -> copyOut(cache, swap(cache), mapping);
            case HOST_TO_DEVICE -> copyIn(cache, swap(cache), mapping);
        }
    }

    private static SwapStream swap(CudaKvCache cache) {
        SwapStream swap = cache.swap();
        if (swap == null) {
            throw new IllegalStateException("copies to and from no host tier");
        }
        return swap;
    }

    private void copyWithin(CudaKvCache cache, BlockMapping mapping) {
        for (int pair = 0; pair < mapping.count(); pair++) {
            int source = mapping.source(pair);
            int target = mapping.target(pair);
            if (source == target) {
                continue;
            }
            if (count == MAX_PAIRS || targets.get(source) || targets.get(target) || sources.get(target)) {
                launch(Place.of(cache), Place.of(cache), cache);
            }
            add(source, target);
        }
        launch(Place.of(cache), Place.of(cache), cache);
    }

    private void copyOut(CudaKvCache cache, SwapStream swap, BlockMapping mapping) {
        int most = Math.min(MAX_PAIRS, swap.regionBlocks());
        for (int pair = 0; pair < mapping.count(); pair++) {
            hostBlocks[count] = mapping.target(pair);
            add(mapping.source(pair), count);
            if (count == most || pair == mapping.count() - 1) {
                sendOut(cache, swap);
            }
        }
    }

    private void sendOut(CudaKvCache cache, SwapStream swap) {
        int leaving = count;
        SwapStream.Region region = swap.nextRegion();
        stream.waitFor(region.free());
        launch(Place.of(cache), Place.of(region, cache), cache);
        stream.record(region.filled());
        swap.copyOut(region, hostBlocks, leaving);
    }

    private void copyIn(CudaKvCache cache, SwapStream swap, BlockMapping mapping) {
        int most = Math.min(MAX_PAIRS, swap.regionBlocks());
        for (int pair = 0; pair < mapping.count(); pair++) {
            if (count == most || targets.get(mapping.target(pair))) {
                takeIn(cache, swap);
            }
            hostBlocks[count] = mapping.source(pair);
            add(count, mapping.target(pair));
        }
        if (count > 0) {
            takeIn(cache, swap);
        }
    }

    private void takeIn(CudaKvCache cache, SwapStream swap) {
        SwapStream.Region region = swap.nextRegion();
        swap.copyIn(region, hostBlocks, count);
        stream.waitFor(region.filled());
        launch(Place.of(region, cache), Place.of(cache), cache);
        stream.record(region.free());
    }

    // ---- the run

    private void add(int source, int target) {
        pairs.setAtIndex(ValueLayout.JAVA_INT, 2L * count, source);
        pairs.setAtIndex(ValueLayout.JAVA_INT, 2L * count + 1, target);
        sources.set(source);
        targets.set(target);
        count++;
    }

    private void forgetRun() {
        count = 0;
        sources.clear();
        targets.clear();
    }

    private void launch(Place from, Place to, CudaKvCache cache) {
        if (count == 0) {
            return;
        }
        try {
            DevicePointer placed = staging.place(pairs.asSlice(0, 2L * count * Integer.BYTES));
            staging.send();
            copyBlocks.launch(stream, count, cache.planeCount, KernelSizes.COPY_THREADS, 0, copyBlocks.arguments()
                    .pointer(from.memory()).wide(from.blockStride()).wide(from.planeStride())
                    .pointer(to.memory()).wide(to.blockStride()).wide(to.planeStride())
                    .pointer(placed).integer(cache.blockPlaneBytes));
        } finally {
            staging.close();
            forgetRun();
        }
    }
}
