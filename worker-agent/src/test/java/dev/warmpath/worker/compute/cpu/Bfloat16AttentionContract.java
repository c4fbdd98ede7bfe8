package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.worker.compute.AttentionContract;
import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DeviceData;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Keys and values of two bytes on processors: rounded once, where they are stored, and never again. */
abstract class Bfloat16AttentionContract extends AttentionContract {

    abstract ComputeBackend create(int threads, CacheType cacheType);

    @Override
    protected final ComputeBackend create(int threads) {
        return create(threads, CacheType.BF16);
    }

    /** Heads of less than a vector, of a vector and a part of one, and of several; windows, caps and sinks. */
    @ParameterizedTest
    @CsvSource({"1, 2, 2, 4, 0, 0, false", "33, 6, 10, 8, 0, 0, false", "75, 6, 32, 16, 21, 30, true",
        "40, 2, 48, 32, 5, 0, false", "40, 2, 64, 7, 0, 0, true", "40, 2, 80, 16, 37, 0, false",
        "130, 6, 128, 16, 0, 2.5, false"})
    void attention_is_to_the_bit_that_of_float32_over_rounded_keys_and_values(int length, int heads, int headSize,
            int blockSize, int window, double softCap, boolean sinks) {
        var rounded = World.create(create(1), length, heads, headSize, 2)
                .with(new AttentionSpec(0.37, window, softCap, sinks));
        var unrounded = rounded.withKeptKeysAndValues().on(create(1, CacheType.F32));

        assertThat(rounded.attend(blockSize, length)).containsExactly(unrounded.attend(blockSize, length));
    }

    /** One token sees itself alone: what comes out is its value. */
    @Test
    void values_are_the_nearest_of_eight_bits_of_two_the_even_one_and_nan_stays_nan() {
        float signalling = Float.intBitsToFloat(0x7F80_0001);             // without its lower half it is infinite
        assertThat(stored(1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-23f, -1 - 0x1p-8f - 0x1p-23f))
                .containsExactly(1, 1 + 0x1p-6f, 1 + 0x1p-7f, -1 - 0x1p-7f);
        assertThat(stored(signalling, Float.NEGATIVE_INFINITY, Float.MAX_VALUE, 3)).containsExactly(
                Float.NaN, Float.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY, 3);
        assertThat(stored(7, signalling, Float.MIN_NORMAL, Float.NaN)).containsExactly(
                7, Float.NaN, Float.MIN_NORMAL, Float.NaN);
    }

    @Test
    void keys_and_values_of_one_byte_are_no_type_of_processors() {
        assertThatIllegalArgumentException().isThrownBy(() -> create(1, CacheType.FP8_E4M3))
                .withMessage("processors keep no keys and values as fp8_e4m3");
    }

    private float[] stored(float... value) {
        try (var data = new DeviceData(create(1))) {
            int size = value.length;
            var cache = data.backend().allocateKvCache(new CacheShape(1, 1, size, /* blockSize */ 2), 2, 0);
            float[] row = new float[3 * size];
            System.arraycopy(value, 0, row, 2 * size, size);
            Tensor qkv = data.activations(1, 3 * size, row);
            Tensor output = data.activations(1, size);
            var batch = new PagedBatch(data.ints(0), data.ints(/* slot */ 3), data.ints(1), data.ints(0, 1),
                    data.ints(1), 1, 1, 1);
            Tensor unturned = data.floats(1, size, 1, 1, 0, 0);
            data.backend().rotateAndStoreKv(qkv, unturned, batch, cache, 0);
            // behind position 0 of the block, which holds zeros
            var second = new PagedBatch(data.ints(1), data.ints(-1), data.ints(1), data.ints(0, 1), data.ints(2), 1, 1,
                    1);
            data.backend().pagedAttention(qkv, new AttentionSpec(1, /* window */ 1, AttentionSpec.NO_CAP, false), null,
                    second, cache, 0, output);
            return data.read(output);
        }
    }
}
