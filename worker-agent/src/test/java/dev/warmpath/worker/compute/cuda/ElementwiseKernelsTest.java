package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.Bf16;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels that touch each number about once. Of three rows two count, the third must stay as it was. */
class ElementwiseKernelsTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {}

    @Nested
    @OnCard
    class OnACard extends Cases {}

    abstract static class Cases extends OnDevices {

        private static final float EPSILON = 1e-5f;

        /** What bfloat16 loses, and a few float32 operations before it. */
        private static double tolerance(double expected) {
            return Math.abs(expected) * (0x1p-8 + 0x1p-20) + 1e-30;
        }

        private static float[] normal(int count, long seed) {
            var random = new SplittableRandom(seed);
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = Bf16.toFloat(Bf16.of((float) random.nextGaussian()));
            }
            return values;
        }

        private static double[] rmsNorm(float[] values, int row, float[] weight) {
            int columns = weight.length;
            double squares = 0;
            for (int i = 0; i < columns; i++) {
                squares += (double) values[row * columns + i] * values[row * columns + i];
            }
            double[] norm = new double[columns];
            for (int i = 0; i < columns; i++) {
                norm[i] = values[row * columns + i] / Math.sqrt(squares / columns + EPSILON) * weight[i];
            }
            return norm;
        }

        private void assertNormed(DevicePointer output, float[] values, float[] weight) {
            int columns = weight.length;
            float[] normed = arrays.readBf16(output, 2 * columns);
            for (int row = 0; row < 2; row++) {
                double[] expected = rmsNorm(values, row, weight);
                for (int i = 0; i < columns; i++) {
                    assertThat(Math.abs(normed[row * columns + i] - expected[i])).as("row %d column %d", row, i)
                            .isLessThanOrEqualTo(tolerance(expected[i]));
                }
            }
            assertThat(arrays.guardIsWhole(output, 4L * columns)).isTrue();
        }

        /** 2048 columns are 8 a thread, 8192 all that threads keep. */
        @ParameterizedTest
        @ValueSource(ints = {8, 64, 2048, 2056, 8192, 8200, 20_488})
        void rms_norm_divides_by_the_root_of_the_mean_square(int columns) {
            float[] values = normal(3 * columns, 1);
            float[] weight = normal(columns, 2);
            DevicePointer input = arrays.bf16(values);
            DevicePointer scale = arrays.floats(weight);
            DevicePointer live = arrays.ints(2);
            DevicePointer output = arrays.empty(6L * columns);
            arrays.schedule(columns);
            arrays.run("wp_rms_norm", 3, 1, 256, arguments -> arguments.pointer(input).pointer(scale).real(EPSILON)
                    .pointer(output).integer(columns).pointer(live));
            assertNormed(output, values, weight);
        }

        @ParameterizedTest
        @ValueSource(ints = {8, 64, 2056, 8200})
        void add_rms_norm_keeps_the_rounded_sum_and_norms_that(int columns) {
            float[] before = normal(3 * columns, 3);
            float[] added = normal(3 * columns, 4);
            float[] sum = new float[3 * columns];
            for (int i = 0; i < sum.length; i++) {
                sum[i] = i < 2 * columns ? Bf16.toFloat(Bf16.of(before[i] + added[i])) : before[i];
            }
            float[] weight = normal(columns, 5);
            DevicePointer residual = arrays.bf16(before);
            DevicePointer addend = arrays.bf16(added);
            DevicePointer scale = arrays.floats(weight);
            DevicePointer live = arrays.ints(2);
            DevicePointer output = arrays.empty(6L * columns);
            arrays.run("wp_add_rms_norm", 3, 1, 256, arguments -> arguments.pointer(residual).pointer(addend)
                    .pointer(scale).real(EPSILON).pointer(output).integer(columns).pointer(live));
            assertThat(arrays.readBf16(residual, 3 * columns)).isEqualTo(sum);
            assertNormed(output, sum, weight);
        }

        /** 2048 columns are a block's. */
        @ParameterizedTest
        @ValueSource(ints = {8, 2040, 2048, 2056, 6152})
        void silu_mul_is_gate_times_its_sigmoid_times_up(int columns) {
            float[] values = normal(3 * 2 * columns, 6);
            float[] extremes = {-0f, 0, -200, 200, -1e38f, Float.POSITIVE_INFINITY, 0x1p-100f, -80};
            System.arraycopy(extremes, 0, values, 0, 8);
            Arrays.fill(values, columns, columns + 8, 2);
            DevicePointer input = arrays.bf16(values);
            DevicePointer live = arrays.ints(2);
            DevicePointer output = arrays.empty(6L * columns);
            arrays.run("wp_gate_silu", 3, (columns + 2047) / 2048, 256, arguments ->
                    arguments.pointer(input).pointer(output).integer(columns).pointer(live));
            float[] result = arrays.readBf16(output, 2 * columns);
            for (int row = 0; row < 2; row++) {
                for (int i = 0; i < columns; i++) {
                    float gate = Bf16.toFloat(Bf16.of(values[row * 2 * columns + i]));
                    double expected = gate / (1 + Math.exp(-gate)) * values[row * 2 * columns + columns + i];
                    float actual = result[row * columns + i];
                    double error = expected == actual ? 0 : Math.abs(actual - expected);
                    // the device's 2^x loses a little more where x is large
                    assertThat(error).as("silu(%s)", gate).isLessThanOrEqualTo(
                            tolerance(expected) + Math.abs(expected) * 1e-5);
                }
            }
            assertThat(arrays.guardIsWhole(output, 4L * columns)).isTrue();
        }

        @ParameterizedTest
        @ValueSource(ints = {8, 1032, 4104})
        void embedding_and_gather_copy_the_rows_that_are_named(int columns) {
            float[] table = normal(5 * columns, 7);
            DevicePointer source = arrays.bf16(table);
            DevicePointer named = arrays.ints(4, 1, 2);
            DevicePointer live = arrays.ints(2);
            for (String kernel : new String[] {"wp_embed", "wp_gather_rows"}) {
                DevicePointer output = arrays.empty(6L * columns);
                arrays.run(kernel, 3, 1, 128, arguments -> {
                    boolean gathers = kernel.equals("wp_gather_rows");
                    return arguments.pointer(gathers ? source : named).pointer(gathers ? named : source)
                            .pointer(output).integer(columns).pointer(live);
                });
                float[] result = arrays.readBf16(output, 2 * columns);
                assertThat(Arrays.copyOf(result, columns))
                        .containsExactly(Arrays.copyOfRange(table, 4 * columns, 5 * columns));
                assertThat(Arrays.copyOfRange(result, columns, 2 * columns))
                        .containsExactly(Arrays.copyOfRange(table, columns, 2 * columns));
                assertThat(arrays.guardIsWhole(output, 4L * columns)).isTrue();
            }
        }

        @Test
        void drawn_tokens_are_fed_where_a_source_is_named_and_nothing_drawn_feeds_0() {
            DevicePointer drawn = arrays.ints(70, 71, -1);
            DevicePointer sources = arrays.ints(2, -1, 1, 0, 0);
            DevicePointer tokens = arrays.ints(10, 11, 12, 13, 14);
            DevicePointer live = arrays.ints(4);
            arrays.run("wp_feed_tokens", 1, 1, 128, arguments -> arguments.pointer(drawn).pointer(sources)
                    .pointer(tokens).integer(5).pointer(live));
            assertThat(arrays.readInts(tokens, 5)).containsExactly(0, 11, 71, 70, 14);
        }

        @Test
        void tokens_are_fed_to_every_row_of_many_blocks() {
            int[] sources = new int[300];
            int[] drawn = new int[300];
            for (int row = 0; row < 300; row++) {
                sources[row] = 299 - row;
                drawn[row] = 1000 + row;
            }
            DevicePointer from = arrays.ints(drawn);
            DevicePointer by = arrays.ints(sources);
            DevicePointer tokens = arrays.empty(1200);
            arrays.run("wp_feed_tokens", 3, 1, 128, arguments -> arguments.pointer(from).pointer(by)
                    .pointer(tokens).integer(300).pointer(null));
            assertThat(arrays.readInts(tokens, 300)).startsWith(1299, 1298).endsWith(1001, 1000);
            assertThat(arrays.guardIsWhole(tokens, 1200)).isTrue();
        }

        /** Entries {target, offset, bytes}; the second target is not a multiple of 16. */
        @Test
        void scattered_writes_reach_their_targets_and_nothing_else() {
            int[] sizes = {4, 20, 64, 100_004};
            int[] shifts = {0, 4, 0, 12};
            DevicePointer[] targets = new DevicePointer[4];
            int offset = 64;
            for (int i = 0; i < 4; i++) {
                targets[i] = arrays.empty(shifts[i] + sizes[i]);
                offset += (sizes[i] + 15) / 16 * 16;
            }
            ByteBuffer staging = ByteBuffer.allocate(offset).order(ByteOrder.LITTLE_ENDIAN);
            offset = 64;
            var random = new SplittableRandom(8);
            byte[][] contents = new byte[4][];
            for (int i = 0; i < 4; i++) {
                contents[i] = new byte[sizes[i]];
                random.nextBytes(contents[i]);
                staging.putLong(targets[i].address() + shifts[i]).putInt(offset).putInt(sizes[i]);
                staging.put(offset, contents[i]);
                offset += (sizes[i] + 15) / 16 * 16;
            }
            DevicePointer source = arrays.bytes(staging.array());
            arrays.run("wp_scatter_writes", 4, 8, 256, arguments -> arguments.pointer(source).integer(4));
            for (int i = 0; i < 4; i++) {
                byte[] written = arrays.read(targets[i], shifts[i] + sizes[i]).toArray(ValueLayout.JAVA_BYTE);
                byte[] expected = new byte[shifts[i] + sizes[i]];
                Arrays.fill(expected, 0, shifts[i], (byte) 0xFF);
                System.arraycopy(contents[i], 0, expected, shifts[i], sizes[i]);
                assertThat(written).isEqualTo(expected);
                assertThat(arrays.guardIsWhole(targets[i], shifts[i] + sizes[i])).isTrue();
            }
        }
    }
}
