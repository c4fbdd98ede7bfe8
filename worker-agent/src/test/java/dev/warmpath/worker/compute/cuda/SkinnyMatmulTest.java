package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.Bf16;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products of up to 8 rows, against float64. */
class SkinnyMatmulTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {}

    @Nested
    @OnCard
    class OnACard extends Cases {}

    abstract static class Cases extends OnDevices {

        private float[] product(String type, int rows, float[] input, float[] weight, int outputs, int depth) {
            int bytes = rows * outputs * (type.equals("f32") ? 4 : 2);
            DevicePointer output = arrays.empty(bytes);
            DevicePointer x = arrays.bf16(input);
            DevicePointer w = arrays.bf16(weight);
            arrays.run("wp_skinny_matmul_%s_m%d".formatted(type, rows), (outputs + 15) / 16, 1, 256, arguments ->
                    arguments.pointer(x).pointer(w).pointer(output).integer(outputs).integer(depth));
            assertThat(arrays.guardIsWhole(output, bytes)).isTrue();
            return type.equals("f32") ? arrays.readFloats(output, rows * outputs)
                    : arrays.readBf16(output, rows * outputs);
        }

        /** One chunk is 64 deep, all warps have one of 512, and four each of 2048. */
        @ParameterizedTest
        @CsvSource({"1, 1, 8", "2, 7, 16", "4, 15, 56", "8, 16, 64", "1, 17, 72", "2, 33, 512", "4, 40, 520",
            "8, 24, 2048", "1, 16, 2056", "2, 9, 4088", "4, 18, 4104", "8, 1, 8192"})
        void every_output_is_the_sum_of_its_products(int rows, int outputs, int depth) {
            float[] input = normal(rows * depth, 1);
            float[] weight = normal(outputs * depth, 2);
            float[] inFloat = product("f32", rows, input, weight, outputs, depth);
            float[] inBf16 = product("bf16", rows, input, weight, outputs, depth);
            for (int row = 0; row < rows; row++) {
                for (int output = 0; output < outputs; output++) {
                    double sum = 0;
                    double magnitudes = 0;
                    for (int k = 0; k < depth; k++) {
                        double term = (double) input[row * depth + k] * weight[output * depth + k];
                        sum += term;
                        magnitudes += Math.abs(term);
                    }
                    // what float32 loses by an addition, times how many a term goes through
                    double adding = (depth / 128 + 20) * 0x1p-24 * magnitudes;
                    int at = row * outputs + output;
                    assertThat(Math.abs(inFloat[at] - sum)).as("row %d output %d", row, output)
                            .isLessThanOrEqualTo(adding);
                    assertThat(Math.abs(inBf16[at] - sum)).as("row %d output %d", row, output)
                            .isLessThanOrEqualTo(adding + 0x1p-8 * Math.abs(sum));
                }
            }
        }

        @Test
        void a_row_is_the_same_to_the_last_bit_alone_and_among_eight_in_any_order_of_warps() {
            int depth = 1096;
            int outputs = 35;
            float[] input = normal(8 * depth, 3);
            float[] weight = normal(outputs * depth, 4);
            arrays.schedule(1);
            float[] eight = product("f32", 8, input, weight, outputs, depth);
            for (int row = 0; row < 8; row++) {
                arrays.schedule(100 + row);
                float[] alone = product("f32", 1, Arrays.copyOfRange(input, row * depth, (row + 1) * depth), weight,
                        outputs, depth);
                assertThat(alone).containsExactly(Arrays.copyOfRange(eight, row * outputs, (row + 1) * outputs));
            }
        }

        @Test
        void rows_and_outputs_that_are_not_a_number_stay_among_themselves() {
            int depth = 72;
            float[] input = normal(4 * depth, 5);
            float[] weight = normal(20 * depth, 6);
            input[2 * depth + 71] = Float.NaN;
            weight[19 * depth + 71] = Float.NaN;
            float[] output = product("f32", 4, input, weight, 20, depth);
            for (int row = 0; row < 4; row++) {
                for (int column = 0; column < 20; column++) {
                    assertThat(Float.isNaN(output[row * 20 + column])).isEqualTo(row == 2 || column == 19);
                }
            }
        }

        /** Standard normal, as bfloat16 holds it. */
        private static float[] normal(int count, long seed) {
            var random = new SplittableRandom(seed);
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = Bf16.toFloat(Bf16.of((float) random.nextGaussian()));
            }
            return values;
        }
    }
}
