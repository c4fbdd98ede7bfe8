package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What every backend makes of a fused projection before it is kept: biases, norms of heads, turns of a part of them.
 * The queries are looked at where they lie; keys and values by what attention makes of them.
 */
public abstract class HeadsContract {

    private static final int TOKENS = 21;
    private static final int HEADS = 6;
    private static final int KV_HEADS = 2;
    private static final float EPSILON = 1e-3f;

    protected abstract ComputeBackend create(int threads);

    /** Projections of a few tokens, with all that may become of them. */
    private record World(int headSize, int turned, float[] qkv, float[] bias, float[] queryNorm, float[] keyNorm,
                         float[] angles) {

        static World create(DeviceData data, int headSize, int turned) {
            int columns = (HEADS + 2 * KV_HEADS) * headSize;
            float[] angles = DeviceData.uniform(TOKENS * turned, 5, 1.2);
            return new World(headSize, turned, data.rounded(DeviceData.uniform(TOKENS * columns, 1, 1)),
                    DeviceData.uniform(columns, 2, 1), DeviceData.uniform(headSize, 3, 2),
                    DeviceData.uniform(headSize, 4, 2), angles);
        }

        int columns() {
            return (HEADS + 2 * KV_HEADS) * headSize;
        }

        /** @param head of queries, then keys, then values @return its elements as they are attended to */
        double[] head(int token, int head, boolean biased, boolean normed) {
            double[] elements = new double[headSize];
            for (int i = 0; i < headSize; i++) {
                int column = head * headSize + i;
                elements[i] = qkv[token * columns() + column] + (biased ? bias[column] : 0);
            }
            if (normed && head < HEADS + KV_HEADS) {
                double squares = Arrays.stream(elements).map(x -> x * x).sum();
                for (int i = 0; i < headSize; i++) {
                    elements[i] *= (head < HEADS ? queryNorm : keyNorm)[i] / Math.sqrt(squares / headSize + EPSILON);
                }
            }
            for (int i = 0; i < turned / 2 && head < HEADS + KV_HEADS; i++) {
                double cos = angles[token * turned + i];
                double sin = angles[token * turned + turned / 2 + i];
                double a = elements[i];
                double b = elements[i + turned / 2];
                elements[i] = a * cos - b * sin;
                elements[i + turned / 2] = b * cos + a * sin;
            }
            return elements;
        }

        /** Of the last token over all. */
        double[] attended(int head, boolean biased, boolean normed) {
            double[] query = head(TOKENS - 1, head, biased, normed);
            double[] mixed = new double[headSize];
            double sum = 0;
            int kvHead = head / (HEADS / KV_HEADS);
            for (int token = 0; token < TOKENS; token++) {
                double[] key = head(token, HEADS + kvHead, biased, normed);
                double[] value = head(token, HEADS + KV_HEADS + kvHead, biased, normed);
                double product = 0;
                for (int i = 0; i < headSize; i++) {
                    product += query[i] * key[i];
                }
                double weight = Math.exp(product / Math.sqrt(headSize));
                sum += weight;
                for (int i = 0; i < headSize; i++) {
                    mixed[i] += weight * value[i];
                }
            }
            double total = sum;
            return Arrays.stream(mixed).map(x -> x / total).toArray();
        }
    }

    /** The share of a head that is turned, in quarters. */
    @ParameterizedTest
    @CsvSource({"64, false, false, 4", "64, false, false, 3", "64, false, false, 0", "64, true, false, 4",
                "64, false, true, 4", "32, true, true, 2", "128, true, true, 3", "96, false, true, 4",
                "256, true, true, 4", "256, false, false, 1"})
    void biases_norms_and_turns_of_a_part_of_heads_equal_float64(int size, boolean biased, boolean normed,
            int quarters) {
        try (var data = new DeviceData(create(1))) {
            var shape = new CacheShape(2, KV_HEADS, size, data.blockSize(16));
            World world = World.create(data, size, size * quarters / 4);
            assumeThat(data.backend().lack(shape, HEADS, world.turned(), AttentionSpec.plain(size))).isNull();
            var spec = new QkvSpec(biased ? data.floats(1, world.columns(), world.bias()) : null,
                    normed ? new QkvSpec.HeadNorms(data.floats(1, size, world.queryNorm()),
                            data.floats(1, size, world.keyNorm()), EPSILON) : null,
                    quarters == 0 ? null : data.floats(TOKENS, world.turned(), world.angles()));
            Tensor qkv = data.activations(TOKENS, world.columns(), world.qkv());
            var cache = data.backend().allocateKvCache(shape, 4, 0);
            var batch = batch(data, shape.blockSize());
            data.backend().rotateAndStoreKv(qkv, spec, batch, cache, 1);
            float[] finished = data.read(qkv);
            for (int token = 0; token < TOKENS; token++) {
                for (int head = 0; head < HEADS; head++) {
                    assertHead(finished, token * world.columns() + head * size, world.head(token, head, biased, normed),
                            data, 0x1p-20);
                }
            }
            Tensor output = data.activations(TOKENS, HEADS * size);
            data.backend().pagedAttention(qkv, AttentionSpec.plain(size), null, batch, cache, 1, output);
            float[] attended = data.read(output);
            for (int head = 0; head < HEADS; head++) {
                // keys and values may be rounded to bfloat16; weights are where activations are
                assertHead(attended, ((TOKENS - 1) * HEADS + head) * size, world.attended(head, biased, normed), data,
                        0x1p-18 + 8 * Math.max(data.storing(1), data.keeping(1)));
            }
        }
    }

    private static PagedBatch batch(DeviceData data, int blockSize) {
        int[] positions = new int[TOKENS];
        int[] slots = new int[TOKENS];
        Arrays.setAll(positions, token -> token);
        Arrays.setAll(slots, token -> blockSize + token);
        return new PagedBatch(data.ints(positions), data.ints(slots), data.ints(1, 2, 3), data.ints(0, TOKENS),
                data.ints(TOKENS), TOKENS, 1, 3);
    }

    private static void assertHead(float[] actual, int start, double[] expected, DeviceData data, double tolerance) {
        for (int i = 0; i < expected.length; i++) {
            assertThat((double) actual[start + i]).as("element %d", i)
                    .isCloseTo(expected[i],
                            within(tolerance * (1 + Math.abs(expected[i])) + data.storing(expected[i])));
        }
    }

    @Test
    void what_does_not_fit_the_heads_is_refused_at_the_call() {
        try (var data = new DeviceData(create(1))) {
            int size = data.headSize(32);
            var cache = data.backend().allocateKvCache(new CacheShape(1, KV_HEADS, size, data.blockSize(16)), 4, 0);
            int columns = (HEADS + 2 * KV_HEADS) * size;
            Tensor qkv = data.activations(TOKENS, columns);
            var batch = batch(data, cache.shape().blockSize());
            var wide = new QkvSpec(null, null, data.floats(30, 2 * size));
            var narrowBias = new QkvSpec(data.floats(1, columns - size), null, null);
            var narrowNorm = new QkvSpec(null, new QkvSpec.HeadNorms(data.floats(1, size), data.floats(1, size / 2),
                    EPSILON), null);
            for (QkvSpec spec : new QkvSpec[] {wide, narrowBias, narrowNorm}) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> data.backend().rotateAndStoreKv(qkv, spec, batch, cache, 0));
            }
        }
    }
}
