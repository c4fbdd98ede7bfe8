package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
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
    protected record World(DeviceData data, int length, int heads, int headSize, float[] qkv, AttentionSpec spec,
                         float[] sinks) {

        /** @param headSize or the next larger one that the backend takes */
        public static World create(ComputeBackend backend, int length, int heads, int headSize, double bound) {
            var data = new DeviceData(backend);
            int taken = data.headSize(headSize);
            return new World(data, length, heads, taken,
                    data.rounded(DeviceData.uniform(length * (heads + 2 * KV_HEADS) * taken, length, bound)),
                    AttentionSpec.plain(taken), DeviceData.uniform(heads, 7, bound));
        }

        public World with(AttentionSpec other) {
            return new World(data, length, heads, headSize, qkv, other, sinks);
        }

        int columns() {
            return (heads + 2 * KV_HEADS) * headSize;
        }

        public World on(ComputeBackend other) {
            return new World(new DeviceData(other), length, heads, headSize, qkv, spec, sinks);
        }

        /** The same queries over keys and values that this backend's cache has rounded. */
        public World withKeptKeysAndValues() {
            float[] kept = qkv.clone();
            for (int i = 0; i < kept.length; i++) {
                kept[i] = i % columns() < heads * headSize ? qkv[i] : data.kept(qkv[i]);
            }
            return new World(data, length, heads, headSize, kept, spec, sinks);
        }

        /** Chunk by chunk into a cache whose blocks are handed out backwards; unused slots hold NaN. */
        public float[] attend(int blockSize, int chunk) {
            return attend(blockSize, chunk, 0);
        }

        /** As above, but only the tokens from {@code first} on attend, in one step. @return their rows */
        float[] attend(int wantedBlockSize, int chunk, int first) {
            try (data) {
                ComputeBackend backend = data.backend();
                int blockSize = data.blockSize(wantedBlockSize);
                int blocks = Math.ceilDiv(length, blockSize);
                var cache = backend.allocateKvCache(new CacheShape(1, KV_HEADS, headSize, blockSize), blocks + 1, 0);
                poison(cache, blocks);
                float[] angles = new float[length * headSize];
                for (int i = 0; i < angles.length; i++) {
                    angles[i] = i % headSize < headSize / 2 ? 1 : 0;
                }
                Tensor rotary = data.floats(length, headSize, angles);
                float[] outputs = new float[(length - first) * heads * headSize];
                for (int from = 0; from < length; from += chunk) {
                    int count = Math.min(chunk, length - from);
                    Tensor rows = rows(from, count);
                    backend.rotateAndStoreKv(rows, rotary, batch(from, count, blockSize, blocks), cache, 0);
                    int attending = Math.max(from, first);
                    int attendingCount = from + count - attending;
                    if (attendingCount < count) {
                        rows = rows(attending, attendingCount);
                    }
                    Tensor output = data.activations(attendingCount, heads * headSize);
                    backend.pagedAttention(rows, spec, sinkTensor(), batch(attending, attendingCount, blockSize, blocks), cache, 0, output);
                    System.arraycopy(data.read(output), 0, outputs, (attending - first) * heads * headSize,
                            attendingCount * heads * headSize);
                }
                return outputs;
            }
        }

        private @Nullable Tensor sinkTensor() {
            return spec.sinks() ? data.floats(1, heads, sinks) : null;
        }

        private Tensor rows(int from, int count) {
            return data.activations(count, columns(),
                    Arrays.copyOfRange(qkv, from * columns(), (from + count) * columns()));
        }

        private void poison(KvCache cache, int blocks) {
            int size = cache.shape().blockSize() * (blocks + 1);
            float[] nan = new float[size * columns()];
            Arrays.fill(nan, Float.NaN);
            int[] slots = new int[size];
            Arrays.setAll(slots, slot -> slot);
            var batch = new PagedBatch(data.ints(new int[size]), data.ints(slots), data.ints(0), data.ints(0, size),
                    data.ints(1), size, 1, 1);
            data.backend().rotateAndStoreKv(data.activations(size, columns(), nan),
                    data.floats(1, headSize, new float[headSize]), batch, cache, 0);
        }

        private PagedBatch batch(int from, int count, int blockSize, int blocks) {
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
            int from = spec.window() == 0 ? 0 : Math.max(0, token + 1 - spec.window());
            double max = spec.sinks() ? sinks[head] : Double.NEGATIVE_INFINITY;
            double[] scores = new double[token + 1];
            for (int s = from; s <= token; s++) {
                for (int i = 0; i < headSize; i++) {
                    scores[s] += (double) qkv[token * columns() + head * headSize + i]
                            * data.kept(qkv[s * columns() + key + i]);
                }
                scores[s] *= spec.scale();
                if (spec.softCap() > 0) {
                    scores[s] = spec.softCap() * Math.tanh(scores[s] / spec.softCap());
                }
                max = Math.max(max, scores[s]);
            }
            double sum = spec.sinks() ? Math.exp(sinks[head] - max) : 0;
            for (int s = from; s <= token; s++) {
                double weight = Math.exp(scores[s] - max);
                sum += weight;
                weighted += weight * data.kept(qkv[s * columns() + key + KV_HEADS * headSize + element]);
            }
            return weighted / sum;
        }
    }

    /**
     * What attention over values below {@code bound} may be off by: a score of h products below 4 is off by up to 4h
     * ulp, and so, in proportion, are weights. On a device of bfloat16 each weight and the result are rounded besides.
     */
    private static double tolerance(World world, double bound) {
        return 0x1p-24 * (8.0 * world.headSize() + 2 * world.length() + 8) + world.data().storing(2 * bound);
    }

    @ParameterizedTest
    @CsvSource({"1, 2, 2, 4", "7, 6, 10, 8", "33, 6, 32, 16", "40, 2, 48, 32", "33, 8, 64, 5", "40, 6, 128, 16"})
    void attention_equals_float64_over_a_cache_full_of_stale_nan(int length, int heads, int headSize, int blockSize) {
        var world = World.create(create(1), length, heads, headSize, 2);
        float[] actual = world.attend(blockSize, length);
        for (int i = 0; i < actual.length; i++) {
            int token = i / (heads * world.headSize());
            double expected = world.expected(token, i / world.headSize() % heads, i % world.headSize());
            assertThat((double) actual[i]).isCloseTo(expected, within(tolerance(world, 2)));
        }
    }

    /** Window, soft cap, sinks; 0 is none. The windows end inside blocks, at their edges, and in the tile of a token. */
    @ParameterizedTest
    @CsvSource({"1, 0, false", "5, 0, false", "16, 0, false", "37, 0, false", "300, 0, false", "0, 2.5, false",
                "0, 50, false", "0, 0, true", "21, 30, true"})
    void windows_soft_caps_and_sinks_equal_float64_or_are_refused(int window, double softCap, boolean sinks) {
        var plain = World.create(create(1), 75, 6, 32, 2);
        var spec = new AttentionSpec(0.37, window, softCap, sinks);
        var shape = new CacheShape(1, KV_HEADS, plain.headSize(), plain.data().blockSize(16));
        if (plain.data().backend().lack(shape, 6, plain.headSize(), spec) != null) {
            assertThatIllegalArgumentException().isThrownBy(() -> plain.with(spec).attend(16, 75));
            return;
        }
        float[] actual = plain.with(spec).attend(16, 75);
        double tolerance = 4 * tolerance(plain, 2);                   // scores are twice as large, and capped besides
        for (int i = 0; i < actual.length; i++) {
            double expected = plain.with(spec)
                    .expected(i / (6 * plain.headSize()), i / plain.headSize() % 6, i % plain.headSize());
            assertThat((double) actual[i]).as("number %d", i).isCloseTo(expected, within(tolerance));
        }
        for (int blockSize : new int[] {8, 32}) {
            var other = plain.with(spec).on(create(2));
            other.data().assertSame(other.attend(other.data().blockSize(blockSize), 13), actual, 2 * tolerance);
        }
    }

    @Test
    void blocks_before_the_window_may_be_the_null_block() {
        try (var data = new DeviceData(create(1))) {
            int size = data.headSize(8);
            int block = data.blockSize(4);
            var spec = new AttentionSpec(1, /* window */ block, AttentionSpec.NO_CAP, false);
            var shape = new CacheShape(1, 1, size, block);
            assumeThat(data.backend().lack(shape, 1, size, spec)).isNull();
            var cache = data.backend().allocateKvCache(shape, 4, 0);
            Tensor rotary = data.floats(1, size, joined(filled(size / 2, 1), new float[size / 2]));
            int length = 3 * block;
            int[] slots = new int[length];
            Arrays.setAll(slots, position -> block + position);
            float[] rows = DeviceData.uniform(length * 3 * size, 5, 1);
            var storing = new PagedBatch(data.ints(new int[length]), data.ints(slots), data.ints(1, 2, 3),
                    data.ints(0, length), data.ints(length), length, 1, 3);
            data.backend().rotateAndStoreKv(data.activations(length, 3 * size, rows), rotary, storing, cache, 0);
            float[] nan = filled(3 * size * block, Float.NaN);
            int[] nullSlots = IntStream.range(0, block).toArray();
            data.backend().rotateAndStoreKv(data.activations(block, 3 * size, nan), rotary, new PagedBatch(
                    data.ints(new int[block]), data.ints(nullSlots), data.ints(0), data.ints(0, block), data.ints(block),
                    block, 1, 1), cache, 0);
            Tensor last = data.activations(1, 3 * size, Arrays.copyOfRange(rows, (length - 1) * 3 * size, rows.length));
            float[] whole = attendLast(data, last, spec, cache, length, 1, 2, 3);
            assertThat(attendLast(data, last, spec, cache, length, 0, 0, 3)).containsExactly(whole);
            assertThat(whole[0]).isNotNaN().isNotZero();
        }
    }

    private static float[] attendLast(DeviceData data, Tensor row, AttentionSpec spec, KvCache cache, int length,
                                      int... table) {
        Tensor output = data.activations(1, cache.shape().headSize());
        data.backend().pagedAttention(row, spec, null, new PagedBatch(data.ints(length - 1), data.ints(-1),
                data.ints(table), data.ints(0, 1), data.ints(length), 1, 1, 3), cache, 0, output);
        return data.read(output);
    }

    @Test
    void scores_of_thousands_do_not_overflow() {
        for (float value : World.create(create(1), 33, 6, 32, 60).attend(16, 33)) {
            assertThat(Math.abs(value)).isLessThanOrEqualTo(60.01f);
        }
    }

    @Test
    void a_long_context_of_4098_positions_equals_float64() {
        var world = World.create(create(1), 4098, 2, 8, 1);
        float[] last = world.attend(16, 4098, /* first */ 4097);
        for (int i = 0; i < last.length; i++) {
            double expected = world.expected(4097, i / world.headSize(), i % world.headSize());
            assertThat((double) last[i]).isCloseTo(expected, within(0x1p-24 * 4098 + world.data().storing(1)));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 100})
    void chunks_block_sizes_and_threads_do_not_change_a_row(int chunk) {
        var world = World.create(create(1), 300, 6, 32, 2);
        float[] whole = world.attend(16, 300);
        double tolerance = 2 * tolerance(world, 2);
        for (int blockSize : IntStream.of(8, 16, 32).map(world.data()::blockSize).distinct().toArray()) {
            world.data().assertSame(world.on(create(1)).attend(blockSize, chunk), whole, tolerance);
            world.data().assertSame(world.on(create(2)).attend(blockSize, 300), whole, tolerance);
        }
    }

    /** A vector whose first two elements and the first two of its second half are given. */
    private static float[] pairs(int headSize, float a0, float a1, float b0, float b1) {
        float[] vector = new float[headSize];
        vector[0] = a0;
        vector[1] = a1;
        vector[headSize / 2] = b0;
        vector[headSize / 2 + 1] = b1;
        return vector;
    }

    private static float[] filled(int headSize, float value) {
        float[] vector = new float[headSize];
        Arrays.fill(vector, value);
        return vector;
    }

    private static float[] joined(float[]... vectors) {
        float[] all = new float[vectors.length * vectors[0].length];
        for (int i = 0; i < vectors.length; i++) {
            System.arraycopy(vectors[i], 0, all, i * vectors[0].length, vectors[0].length);
        }
        return all;
    }

    @Test
    @DisplayName("K38: padding")
    void rotation_turns_pairs_half_a_head_apart_and_a_slot_of_minus_one_stores_nothing() {
        try (var data = new DeviceData(create(1))) {
            var backend = data.backend();
            int size = data.headSize(4);
            int block = data.blockSize(4);
            var cache = backend.allocateKvCache(new CacheShape(1, 1, size, block), 2, 0);
            // positions 0 and 1; position 1 turns the first pair by 90 degrees, the second by 180
            float[] angles = joined(new float[size], new float[size]);
            Arrays.fill(angles, 0, size / 2, 1);
            System.arraycopy(pairs(size, 0, -1, 1, 0), 0, angles, size, size);
            Tensor rotary = data.floats(2, size, angles);
            float[] query = pairs(size, 1, 2, 3, 4);
            Tensor qkv = data.activations(2, 3 * size, joined(query, pairs(size, 5, 6, 7, 8), filled(size, 9),
                    query, new float[size], filled(size, 7)));
            var batch = new PagedBatch(data.ints(0, 1), data.ints(block, -1), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.rotateAndStoreKv(qkv, rotary, batch, cache, 0);
            float[] turned = data.read(qkv);
            assertThat(Arrays.copyOf(turned, size)).containsExactly(query);
            assertThat(Arrays.copyOfRange(turned, 3 * size, 4 * size)).containsExactly(pairs(size, -3, -2, 1, -4));
            Tensor output = data.activations(2, size);
            backend.pagedAttention(qkv, AttentionSpec.plain(size), null, batch, cache, 0, output);
            // slot 1 is still zero: token 1 mixes 9 and 0 by its scores q·k = -3·5 − 2·6 + 1·7 − 4·8 = -52 and 0
            assertThat(Arrays.copyOf(data.read(output), size)).containsOnly(9f);
            double mixed = 9 * Math.exp(-52 / Math.sqrt(size));
            assertThat((double) data.read(output)[size]).isCloseTo(mixed, within(1e-14 + 2 * data.storing(mixed)));
        }
    }

    @Test
    void copied_blocks_give_the_same_attention() {
        try (var data = new DeviceData(create(1))) {
            var backend = data.backend();
            int size = data.headSize(4);
            int block = data.blockSize(2);
            var cache = backend.allocateKvCache(new CacheShape(1, 1, size, block), 4, 0);
            Tensor rotary = data.floats(1, size, joined(filled(size / 2, 1), new float[size / 2]));
            Tensor qkv = data.activations(2, 3 * size, DeviceData.uniform(2 * 3 * size, 5, 1));
            var original = new PagedBatch(data.ints(0, 0), data.ints(block, block + 1), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.rotateAndStoreKv(qkv, rotary, original, cache, 0);
            var mapping = new BlockMapping(1);
            mapping.add(1, 3);
            backend.copyBlocks(cache, mapping, CopyDirection.DEVICE_TO_DEVICE);
            Tensor first = data.activations(2, size);
            Tensor second = data.activations(2, size);
            var copied = new PagedBatch(data.ints(0, 1), data.ints(-1, -1), data.ints(3), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            var seen = new PagedBatch(data.ints(0, 1), data.ints(-1, -1), data.ints(1), data.ints(0, 2),
                    data.ints(2), 2, 1, 1);
            backend.pagedAttention(qkv, AttentionSpec.plain(size), null, seen, cache, 0, first);
            backend.pagedAttention(qkv, AttentionSpec.plain(size), null, copied, cache, 0, second);
            assertThat(data.read(second)).containsExactly(data.read(first));
            assertThat(data.read(second)[size]).isNotZero();
        }
    }
}
