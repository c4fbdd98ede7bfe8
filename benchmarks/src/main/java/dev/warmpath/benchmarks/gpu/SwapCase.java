package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.cuda.CudaBackend;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Swapping scattered blocks out and in is held to a plain copy of as many bytes from or to pinned memory. */
final class SwapCase implements GpuCase {

    private static final double LEAST = 0.80;

    private final Sizes sizes;
    private final Goal out = Goal.share("swap out", LEAST, "a plain pinned copy");
    private final Goal in = Goal.share("swap in", LEAST, "a plain pinned copy");

    SwapCase(Sizes sizes) {
        this.sizes = sizes;
    }

    @Override
    public List<Goal> goals() {
        return List.of(out, in);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        var shape = new CacheShape(sizes.swapLayers(), 8, 64, AttentionWorld.BLOCK_TOKENS);
        try (var backend = bench.open(CacheType.BF16)) {
            KvCache cache = backend.allocateKvCache(shape, sizes.swapBlocks() + 1, sizes.swapBlocks());
            long bytes = backend.bytesPerBlock(shape) * sizes.swapBlocks();
            var random = new SplittableRandom(2);
            RandomCache.fill(backend, cache, random);
            measure(backend, cache, mapping(random, 1, 0), CopyDirection.DEVICE_TO_HOST, bytes, out, rows);
            measure(backend, cache, mapping(random, 0, 1), CopyDirection.HOST_TO_DEVICE, bytes, in, rows);
        }
    }

    /** Every block once, to a place of no order. */
    private BlockMapping mapping(SplittableRandom random, int firstSource, int firstTarget) {
        int[] places = new int[sizes.swapBlocks()];
        for (int i = 0; i < places.length; i++) {
            int j = random.nextInt(i + 1);
            places[i] = places[j];
            places[j] = i;
        }
        var mapping = new BlockMapping(places.length);
        for (int i = 0; i < places.length; i++) {
            mapping.add(firstSource + i, firstTarget + places[i]);
        }
        return mapping;
    }

    /** Host time from the call until the device has done it: part of it is ours, so it counts. */
    private void measure(CudaBackend backend, KvCache cache, BlockMapping mapping, CopyDirection direction, long bytes,
            Goal goal, Consumer<Row> rows) {
        long[] nanos = new long[sizes.repetitions()];
        for (int i = -sizes.warmUps(); i < nanos.length; i++) {
            long start = System.nanoTime();
            backend.copyBlocks(cache, mapping, direction);
            backend.timer().synchronize();
            if (i >= 0) {
                nanos[i] = System.nanoTime() - start;
            }
        }
        Times swap = Times.of(nanos);
        Times plain = Times.of(backend.timer().hostCopyNanos(bytes, direction, sizes.repetitions()));
        rows.accept(goal.reached(
                "%.1f GB/s, %d blocks of %d KiB".formatted(
                        swap.perSecond(bytes) / 1e9, mapping.count(), bytes / mapping.count() >> 10),
                "%.1f GB/s".formatted(plain.perSecond(bytes) / 1e9), (double) plain.median() / swap.median(),
                Map.of("swap", swap, "plain copy", plain)));
    }
}
