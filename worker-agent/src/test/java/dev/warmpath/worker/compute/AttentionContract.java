package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rotation, the paged cache and attention over it: against float64, and bit for bit in other circumstances. */
public abstract class AttentionContract {

    protected abstract ComputeBackend create(int threads);

    private static final int KV_HEADS = 2;

    /** One layer; query, key and value rows of one sequence of {@code length} tokens, unrotated (angle 0). */
    private record World(int length, int heads, int headSize, float[] qkv) {

        static World create(int length, int heads, int headSize, double bound) {
            return new World(length, heads, headSize,
                    DeviceData.uniform(length * (heads + 2 * KV_HEADS) * headSize, length, bound));
        }

        int columns() {
            return (heads + 2 * KV_HEADS) * headSize;
        }

        /** Chunk by chunk into a cache whose blocks are handed out backwards; unused slots hold NaN. */
        float[] attend(ComputeBackend backend, int blockSize, int chunk) {
            try (var data = new DeviceData(backend)) {
                int blocks = Math.ceilDiv(length, blockSize);
                var cache = backend.allocateKvCache(new CacheShape(1, KV_HEADS, headSize, blockSize), blocks + 1, 0);
                poison(data, cache, blocks);
                float[] angles = new float[length * headSize];
                for (int i = 0; i < angles.length; i++) {
                    angles[i] = i % headSize < headSize / 2 ? 1 : 0;
                }
                Tensor rotary = data.floats(length, headSize, angles);
                float[] outputs = new float[length * heads * headSize];
                for (int from = 0; from < length; from += chunk) {
                    int count = Math.min(chunk, length - from);
                    Tensor rows = data.floats(count, columns(),
                            Arrays.copyOfRange(qkv, from * columns(), (from + count) * columns()));
                    Tensor output = backend.allocate(DataType.F32, count, heads * headSize);
                    var batch = batch(data, from, count, blockSize, blocks);
                    backend.rotateAndStoreKv(rows, rotary, batch, cache, 0);
                    backend.pagedAttention(rows, batch, cache, 0, output);
                    System.arraycopy(data.read(output), 0, outputs, from * heads * headSize, count * heads * headSize);
                }
                return outputs;
            }
        }

        private void poison(DeviceData data, KvCache cache, int blocks) {
            int size = cache.shape().blockSize() * (blocks + 1);
            float[] nan = new float[size * columns()];
            Arrays.fill(nan, Float.NaN);
            int[] slots = new int[size];
            Arrays.setAll(slots, slot -> slot);
            var batch = new PagedBatch(data.ints(new int[size]), data.ints(slots), data.ints(0), data.ints(0, size),
                    data.ints(1), size, 1, 1);
            data.backend().rotateAndStoreKv(data.floats(size, columns(), nan),
                    data.floats(1, headSize, new float[headSize]), batch, cache, 0);
        }

        private PagedBatch batch(DeviceData data, int from, int count, int blockSize, int blocks) {
            int[] table = new int[blocks];
            Arrays.setAll(table, block -> blocks - block);
            int[] positions = new int[count];
            int[] slots = new int[count];
            for (int i = 0; i < count; i++) {
                positions[i] = from + i;
                slots[i] = table[(from + i) / blockSize] * blockSize + (from + i) % blockSize;
            }
            return new PagedBatch(data.ints(positions), data.ints(slots), data.ints(table), data.ints(0, count),
                    data.ints(from + count), count, 1, blocks);
        }

        double expected(int token, int head, int element) {
            int group = heads / KV_HEADS;
            int key = (heads + head / group) * headSize;
            double weighted = 0;
            double sum = 0;
            double max = Double.NEGATIVE_INFINITY;
            double[] scores = new double[token + 1];
            for (int s = 0; s <= token; s++) {
                for (int i = 0; i < headSize; i++) {
                    scores[s] += (double) qkv[token * columns() + head * headSize + i] * qkv[s * columns() + key + i];
                }
                scores[s] /= Math.sqrt(headSize);
                max = Math.max(max, scores[s]);
            }
            for (int s = 0; s <= token; s++) {
                double weight = Math.exp(scores[s] - max);
                sum += weight;
                weighted += weight * qkv[s * columns() + key + KV_HEADS * headSize + element];
            }
            return weighted / sum;
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 2, 2, 4", "7, 6, 10, 8", "33, 6, 32, 16", "40, 2, 48, 32", "33, 8, 64, 5", "40, 6, 128, 16"})
    void attention_equals_float64_over_a_cache_full_of_stale_nan(int length, int heads, int headSize, int blockSize) {
        var world = World.create(length, heads, headSize, 2);
        float[] actual = world.attend(create(1), blockSize, length);
        for (int i = 0; i < actual.length; i++) {
            int token = i / (heads * headSize);
            double expected = world.expected(token, i / headSize % heads, i % headSize);
            // a score of h products below 4 is off by up to 4h ulp, and so, in proportion, are weights; values are
            // below 2
            assertThat((double) actual[i]).isCloseTo(expected, within(0x1p-24 * (8.0 * headSize + 2 * length + 8)));
        }
    }

    @Test
    void scores_of_thousands_do_not_overflow() {
        var world = World.create(33, 6, 32, 60);
        float[] actual = world.attend(create(1), 16, 33);
        for (float value : actual) {
            assertThat(Math.abs(value)).isLessThanOrEqualTo(60.01f);
        }
    }

    @Test
    void a_long_context_of_4098_positions_equals_float64() {
        var world = World.create(4098, 2, 8, 1);
        float[] actual = world.attend(create(1), 16, 4098);
        for (int element = 0; element < 16; element++) {
            assertThat((double) actual[4097 * 16 + element])
                    .isCloseTo(world.expected(4097, element / 8, element % 8), within(0x1p-24 * 4098));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 100})
    void chunks_block_sizes_and_threads_do_not_change_a_bit(int chunk) {
        var world = World.create(300, 6, 32, 2);
        float[] whole = world.attend(create(1), 16, 300);
        for (int blockSize : new int[] {8, 16, 32}) {
            assertThat(world.attend(create(1), blockSize, chunk)).containsExactly(whole);
            assertThat(world.attend(create(2), blockSize, 300)).containsExactly(whole);
        }
    }

    @Test
    @DisplayName("K38: padding")
    void rotation_turns_pairs_half_a_head_apart_and_a_slot_of_minus_one_stores_nothing() {
        try (var data = new DeviceData(create(1))) {
            var backend = data.backend();
            var cache = backend.allocateKvCache(new CacheShape(1, 1, 4, 4), 2, 0);
            // positions 0 and 1; position 1 turns the first pair by 90 degrees, the second by 180
            Tensor rotary = data.floats(2, 4, 1, 1, 0, 0, 0, -1, 1, 0);
            Tensor qkv = data.floats(2, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 1, 2, 3, 4, 0, 0, 0, 0, 7, 7, 7, 7);
            var batch = new PagedBatch(data.ints(0, 1), data.ints(4, -1), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.rotateAndStoreKv(qkv, rotary, batch, cache, 0);
            float[] turned = data.read(qkv);
            assertThat(Arrays.copyOf(turned, 4)).containsExactly(1, 2, 3, 4);
            assertThat(Arrays.copyOfRange(turned, 12, 16)).containsExactly(-3, -2, 1, -4);
            Tensor output = backend.allocate(DataType.F32, 2, 4);
            backend.pagedAttention(qkv, batch, cache, 0, output);
            // slot 1 is still zero: token 1 mixes 9 and 0 by its scores q·k = (-3·5 − 2·6 + 1·7 − 4·8) / 2 = -26 and 0
            assertThat(data.read(output)).startsWith(9, 9, 9, 9);
            assertThat(data.read(output)[4]).isCloseTo((float) (9 * Math.exp(-26)), within(1e-14f));
        }
    }

    @Test
    void copied_blocks_give_the_same_attention() {
        try (var data = new DeviceData(create(1))) {
            var backend = data.backend();
            var cache = backend.allocateKvCache(new CacheShape(1, 1, 4, 2), 4, 0);
            Tensor rotary = data.floats(1, 4, 1, 1, 0, 0);
            Tensor qkv = data.floats(2, 12, DeviceData.uniform(24, 5, 1));
            var original = new PagedBatch(data.ints(0, 0), data.ints(2, 3), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.rotateAndStoreKv(qkv, rotary, original, cache, 0);
            var mapping = new BlockMapping(1);
            mapping.add(1, 3);
            backend.copyBlocks(cache, mapping, CopyDirection.DEVICE_TO_DEVICE);
            Tensor first = backend.allocate(DataType.F32, 2, 4);
            Tensor second = backend.allocate(DataType.F32, 2, 4);
            var copied = new PagedBatch(data.ints(0, 1), data.ints(-1, -1), data.ints(3), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            var seen = new PagedBatch(data.ints(0, 1), data.ints(-1, -1), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.pagedAttention(qkv, seen, cache, 0, first);
            backend.pagedAttention(qkv, copied, cache, 0, second);
            assertThat(data.read(second)).containsExactly(data.read(first));
            assertThat(data.read(second)[4]).isNotZero();
        }
    }
}
