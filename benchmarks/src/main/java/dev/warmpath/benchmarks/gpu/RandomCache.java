package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;

/** Random keys and values in every slot of a cache, put there by the operation that a model stores them with. */
final class RandomCache {

    private static final int TOKENS_AT_ONCE = 2048;

    private final ComputeBackend backend;
    private final CacheShape shape;
    private final Tensor qkv;
    private final Tensor rotary;
    private final Tensor positions;
    private final Tensor slots;

    private RandomCache(ComputeBackend backend, CacheShape shape) {
        this.backend = backend;
        this.shape = shape;
        qkv = backend.allocate(backend.activationType(), TOKENS_AT_ONCE, 3 * shape.kvHeadCount() * shape.headSize());
        rotary = backend.allocate(DataType.F32, 1, shape.headSize());
        positions = backend.allocate(DataType.I32, TOKENS_AT_ONCE, 1);
        slots = backend.allocate(DataType.I32, TOKENS_AT_ONCE, 1);
    }

    static void fill(ComputeBackend backend, KvCache cache, SplittableRandom random) {
        new RandomCache(backend, cache.shape()).fill(cache, random);
    }

    private void fill(KvCache cache, SplittableRandom random) {
        int slotCount = cache.blockCount() * shape.blockSize();
        try (var arena = Arena.ofConfined()) {
            var values = RandomBf16.ACTIVATION.matrix(arena, TOKENS_AT_ONCE, qkv.columns(), random);
            var slot = arena.allocate(ValueLayout.JAVA_INT, TOKENS_AT_ONCE);
            // every token stands at position 0, whose angles are zero: values land as they are
            float[] angles = new float[shape.headSize()];
            Arrays.fill(angles, 0, shape.headSize() / 2, 1);
            backend.write(rotary, arena.allocateFrom(ValueLayout.JAVA_FLOAT, angles));
            backend.write(positions, arena.allocate(ValueLayout.JAVA_INT, TOKENS_AT_ONCE));
            for (int first = shape.blockSize(); first < slotCount; first += TOKENS_AT_ONCE) {
                int count = Math.min(slotCount - first, TOKENS_AT_ONCE);
                for (int i = 0; i < count; i++) {
                    slot.setAtIndex(ValueLayout.JAVA_INT, i, first + i);
                }
                backend.write(slots, slot.asSlice(0, 4L * count));
                var batch = new PagedBatch(positions, slots, slots, slots, slots, count, 1, 1);
                for (int layer = 0; layer < shape.layerCount(); layer++) {
                    backend.write(qkv, values.asSlice(0, (long) count * qkv.columns() * RandomBf16.BYTES));
                    backend.rotateAndStoreKv(qkv, rotary, batch, cache, layer);
                }
            }
        }
    }
}
