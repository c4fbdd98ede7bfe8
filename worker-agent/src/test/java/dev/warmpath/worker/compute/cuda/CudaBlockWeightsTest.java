package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.DeviceData;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.RandomBlocks;
import dev.warmpath.worker.compute.Recording;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Weights that stay blocks on the card, against what their blocks are worth in float32. */
class CudaBlockWeightsTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {

        @Override
        CudaBackend create() {
            return CudaBackends.emulated(CacheType.BF16);
        }

        @Test
        void a_weight_takes_as_many_bytes_as_in_the_file_and_all_of_them_share_32_mebibytes() {
            long free = backend.freeMemory().orElseThrow();
            backend.allocateWeight(4096, List.of(new StoredRows(WeightFormat.Q4_K, 1024)));
            long first = free - backend.freeMemory().orElseThrow();
            assertThat(first - (32 << 20)).isBetween(2_359_296L, 2_359_296L + (64 << 10));
            free -= first;
            backend.allocateWeight(4096, List.of(new StoredRows(WeightFormat.Q6_K, 1024)));
            assertThat(free - backend.freeMemory().orElseThrow()).isBetween(3_440_640L, 3_440_640L + (64 << 10));
            free = backend.freeMemory().orElseThrow();
            backend.allocateWeight(1024, 4096);
            assertThat(free - backend.freeMemory().orElseThrow()).as("bfloat16")
                    .isBetween(8_388_608L, 8_388_608L + (64 << 10));
        }

        /** More rows than a few go through one product, whatever formats the weight is made of. */
        @Test
        void a_weight_of_three_formats_is_one_product_of_the_library_and_three_of_few_rows() {
            int depth = 256;
            Tensor weight = weight(depth, WeightFormat.Q4_K, 48, WeightFormat.F16, 24, WeightFormat.Q6_K, 16);
            int products = FakeCuda.opened().calls("cublasLtMatmul");
            float[] values = new float[88 * depth];
            System.arraycopy(widened(WeightFormat.Q4_K, 48 * depth), 0, values, 0, 48 * depth);
            System.arraycopy(widened(WeightFormat.F16, 24 * depth), 0, values, 48 * depth, 24 * depth);
            System.arraycopy(widened(WeightFormat.Q6_K, 16 * depth), 0, values, 72 * depth, 16 * depth);
            assertThat(product(DataType.BF16, weight, 33, unit(33, depth, 0)))
                    .containsExactly(columns(values, depth, 0, 33));
            assertThat(FakeCuda.opened().calls("cublasLtMatmul")).isEqualTo(products + 1);
            assertThat(product(DataType.F32, weight, 32, unit(32, depth, 40)))
                    .containsExactly(columns(values, depth, 40, 32));
            assertThat(FakeCuda.opened().calls("cublasLtMatmul")).isEqualTo(products + 1);
            for (String suffix : List.of("q4_k", "bf16", "q6_k")) {
                assertThat(FakeCuda.opened().kernelCalls("wp_widen_" + suffix)).as(suffix).isEqualTo(1);
                assertThat(FakeCuda.opened().kernelCalls("wp_block_product_%s_m32".formatted(suffix))).as(suffix)
                        .isEqualTo(1);
            }
        }

        /** 8,208 rows of 4 KiB do not fit the buffer; ranges are of 4,104, and in each of them a part ends. */
        @Test
        void a_weight_that_is_larger_than_the_buffer_is_multiplied_by_ranges_of_its_rows_wherever_its_parts_end() {
            int depth = 2048;
            int products = FakeCuda.opened().calls("cublasLtMatmul");
            float[] values = new float[8_208 * depth];
            System.arraycopy(widened(WeightFormat.Q4_0, 100 * depth), 0, values, 0, 100 * depth);
            System.arraycopy(widened(WeightFormat.Q8_0, 6_000 * depth), 0, values, 100 * depth, 6_000 * depth);
            System.arraycopy(widened(WeightFormat.Q4_0, 2_108 * depth), 0, values, 6_100 * depth, 2_108 * depth);
            Tensor weight = weight(depth, WeightFormat.Q4_0, 100, WeightFormat.Q8_0, 6_000, WeightFormat.Q4_0, 2_108);
            float[] actual = product(DataType.F32, weight, 33, unit(33, depth, 0));
            assertThat(FakeCuda.opened().calls("cublasLtMatmul")).isEqualTo(products + 2);
            assertThat(FakeCuda.opened().kernelCalls("wp_widen_q4_0")).isEqualTo(2);
            assertThat(FakeCuda.opened().kernelCalls("wp_widen_q8_0")).isEqualTo(2);
            assertThat(Arrays.equals(actual, columns(values, depth, 0, 33))).isTrue();
        }

        @Test
        void a_buffer_that_does_not_fit_beside_the_weights_is_told_and_the_backend_goes_on_without_blocks() {
            FakeCuda fake = FakeCuda.opened();
            int live = fake.live("device");
            List<StoredRows> blocks = List.of(new StoredRows(WeightFormat.Q8_0, 8));
            fake.fail("cuMemAlloc_v2", 1, 2);
            assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> backend.allocateWeight(64, blocks))
                    .withMessageContaining("CUDA_ERROR_OUT_OF_MEMORY (2), "
                            + "33,554,432 bytes for a weight on its way to a product");
            assertThat(fake.live("device")).isEqualTo(live);

            Tensor plain = weight(64, WeightFormat.F16, 8);
            assertThat(product(DataType.F32, plain, 33, unit(33, 64, 0)))
                    .containsExactly(columns(widened(WeightFormat.F16, 8 * 64), 64, 0, 33));
            assertThat(product(DataType.F32, weight(64, WeightFormat.Q8_0, 8), 33, unit(33, 64, 0))).as("asked again")
                    .containsExactly(columns(widened(WeightFormat.Q8_0, 8 * 64), 64, 0, 33));
        }

        /** 40 rows are widened and multiplied by the library, 6 by the kernel of a few. */
        @ParameterizedTest
        @CsvSource({"6", "40"})
        void a_step_with_blocks_is_captured_and_replayed(int rows) {
            int columns = 64;
            Tensor table = weight(columns, WeightFormat.Q5_1, 80);
            Tensor head = weight(columns, WeightFormat.Q8_0, 48);
            Tensor tokens = backend.allocate(DataType.I32, rows, 1);
            Tensor hidden = backend.allocate(DataType.BF16, 48, columns);
            Tensor logits = backend.allocate(DataType.F32, 48, 48);
            var sampled = new SampledTokens(backend.allocate(DataType.I32, rows, 1),
                    backend.allocate(DataType.F32, rows, 1));
            var recording = new Recording();
            var batch = new PagedBatch(tokens, tokens, tokens, tokens, tokens, rows, rows, 1);
            for (int step = 0; step < 3; step++) {
                int[] ids = new int[rows];
                for (int row = 0; row < rows; row++) {
                    ids[row] = (7 * row + 13 * step) % 80;
                }
                backend.write(tokens, MemorySegment.ofArray(ids));
                backend.repeat(recording, batch, () -> {
                    backend.embed(tokens, table, hidden, rows);
                    backend.matmul(hidden, head, logits, rows);
                });
                backend.await(backend.submit(sampled, rows), new StepOutput(rows));
                float[] values = widened(WeightFormat.Q5_1, 80 * columns);
                float[] input = new float[rows * columns];
                for (int row = 0; row < rows; row++) {
                    System.arraycopy(values, ids[row] * columns, input, row * columns, columns);
                }
                assertNear(data.read(logits, rows), input, widened(WeightFormat.Q8_0, 48 * columns), rows, columns, 0);
            }
            assertThat(FakeCuda.opened().calls("cuGraphLaunch")).isEqualTo(2);
        }
    }

    @Nested
    @OnCard
    class OnACard extends Cases {

        @Override
        CudaBackend create() {
            return CudaBackends.onCard(CacheType.BF16);
        }
    }

    abstract static class Cases {

        CudaBackend backend;
        DeviceData data;

        abstract CudaBackend create();

        @BeforeEach
        void open() {
            backend = create();
            data = new DeviceData(backend);
        }

        @AfterEach
        void close() {
            data.close();
        }

        /** Rows of the formats in turn, the same random blocks in each weight. */
        Tensor weight(int columns, Object... formatsAndCounts) {
            List<StoredRows> rows = new ArrayList<>();
            for (int i = 0; i < formatsAndCounts.length; i += 2) {
                rows.add(new StoredRows((WeightFormat) formatsAndCounts[i], (int) formatsAndCounts[i + 1]));
            }
            Tensor weight = backend.allocateWeight(columns, rows);
            int first = 0;
            for (StoredRows part : rows) {
                backend.upload(weight, first, part.count(), part.format(),
                        RandomBlocks.smallNumbers(part.format(), part.count() * columns));
                first += part.count();
            }
            return weight;
        }

        /** What those are worth, rounded to bfloat16; of zeros, no sum keeps the sign. */
        static float[] widened(WeightFormat format, int count) {
            float[] values = exact(format, count);
            for (int i = 0; i < count; i++) {
                values[i] = Bf16.toFloat(Bf16.of(values[i])) + 0f;
            }
            return values;
        }

        static float[] exact(WeightFormat format, int count) {
            float[] values = new float[count];
            format.widen(RandomBlocks.smallNumbers(format, count), 0, count, values);
            return values;
        }

        /** Row r is 1 at column first + r. */
        static float[] unit(int rows, int columns, int first) {
            float[] values = new float[rows * columns];
            for (int row = 0; row < rows; row++) {
                values[row * columns + first + row] = 1;
            }
            return values;
        }

        /** Of a matrix whose rows have so many columns: some of those, one behind the other. */
        static float[] columns(float[] matrix, int depth, int first, int count) {
            int rows = matrix.length / depth;
            float[] columns = new float[count * rows];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = matrix[i % rows * depth + first + i / rows];
            }
            return columns;
        }

        float[] product(DataType type, Tensor weight, int rows, float[] input) {
            int bucket = GemmPlans.bucket(rows);
            Tensor x = data.activations(bucket, weight.columns(), Arrays.copyOf(input, bucket * weight.columns()));
            Tensor output = backend.allocate(type, bucket, weight.rows());
            backend.matmul(x, weight, output, rows);
            return data.read(output, rows);
        }

        /** A single term a sum, 1 times the weight: both ways must have made the same number of it. */
        @ParameterizedTest
        @EnumSource(names = {"F32", "F16", "BF16"}, mode = EnumSource.Mode.EXCLUDE)
        void a_product_with_unit_rows_is_the_weight_in_bfloat16_to_the_bit_of_few_and_of_many(WeightFormat format) {
            int depth = 512;
            int outputs = 40;
            float[] values = widened(format, outputs * depth);
            Tensor weight = weight(depth, format, outputs);
            float[] expected = columns(values, depth, 0, depth);
            assertThat(product(DataType.F32, weight, depth, unit(depth, depth, 0))).containsExactly(expected);
            assertThat(product(DataType.BF16, weight, depth, unit(depth, depth, 0))).containsExactly(expected);
            for (int k = 0; k < depth; k += 32) {
                assertThat(product(k % 64 == 0 ? DataType.F32 : DataType.BF16, weight, 32, unit(32, depth, k)))
                        .containsExactly(Arrays.copyOfRange(expected, k * outputs, (k + 32) * outputs));
            }
        }

        /** 544 is 17 groups, of which a warp's last chunk has one; 20 outputs are no whole block, and no library's. */
        @ParameterizedTest
        @CsvSource({"Q8_0, 544, 24", "Q4_0, 544, 24", "Q4_1, 96, 24", "Q5_0, 544, 20", "Q5_1, 32, 24", "Q4_K, 1280, 24",
            "Q5_K, 256, 20", "Q6_K, 768, 24"})
        void products_of_1_5_32_and_33_rows_are_those_of_the_float32_values(WeightFormat format, int depth,
                int outputs) {
            float[] values = exact(format, outputs * depth);
            Tensor weight = weight(depth, format, outputs);
            for (int rows : new int[] {1, 5, 32, 33}) {
                float[] input = normal(rows * depth, rows);
                assertNear(product(DataType.F32, weight, rows, input), input, values, rows, depth, 0);
                if (outputs % 8 == 0) {                             // other rows cannot be activations
                    assertNear(product(DataType.BF16, weight, rows, input), input, values, rows, depth, 0x1p-8);
                }
            }
        }

        /** @param storing what keeping a result loses of it */
        static void assertNear(float[] actual, float[] input, float[] values, int rows, int depth, double storing) {
            int outputs = values.length / depth;
            for (int i = 0; i < rows * outputs; i++) {
                double sum = 0;
                double magnitudes = 0;
                for (int k = 0; k < depth; k++) {
                    double term = (double) input[i / outputs * depth + k] * values[i % outputs * depth + k];
                    sum += term;
                    magnitudes += Math.abs(term);
                }
                // a weight loses half a step of bfloat16, and each addition one of float32
                double rounding = (0x1p-9 + (depth + 20) * 0x1p-24) * magnitudes;
                assertThat(Math.abs(actual[i] - sum)).as("row %d output %d of %d rows", i / outputs, i % outputs, rows)
                        .isLessThanOrEqualTo(rounding + storing * (Math.abs(sum) + rounding));
            }
        }

        /** Standard normal, as bfloat16 holds it. */
        static float[] normal(int count, long seed) {
            var random = new SplittableRandom(seed);
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = Bf16.toFloat(Bf16.of((float) random.nextGaussian()));
            }
            return values;
        }

        @ParameterizedTest
        @EnumSource(names = {"Q5_0", "Q4_K"})
        void a_row_is_the_same_to_the_last_bit_alone_and_among_32(WeightFormat format) {
            int depth = 1280;
            int outputs = 40;
            Tensor weight = weight(depth, format, outputs);
            float[] input = normal(32 * depth, 3);
            float[] together = product(DataType.F32, weight, 32, input);
            for (int row : new int[] {0, 7, 8, 31}) {
                assertThat(product(DataType.F32, weight, 1, Arrays.copyOfRange(input, row * depth, (row + 1) * depth)))
                        .containsExactly(Arrays.copyOfRange(together, row * outputs, (row + 1) * outputs));
            }
        }

        @Test
        void rows_and_outputs_that_are_not_a_number_stay_among_themselves() {
            int depth = 96;
            int outputs = 24;
            Tensor weight = backend.allocateWeight(depth, List.of(new StoredRows(WeightFormat.Q8_0, outputs)));
            MemorySegment blocks = RandomBlocks.smallNumbers(WeightFormat.Q8_0, outputs * depth);
            int lastScale = (outputs * depth / 32 - 1) * 34;
            blocks.set(ValueLayout.JAVA_BYTE, lastScale + 1, (byte) 0x7E);
            backend.upload(weight, 0, outputs, WeightFormat.Q8_0, blocks);
            for (int rows : new int[] {4, 20, 40}) {
                float[] input = normal(rows * depth, 5);
                input[2 * depth + depth - 1] = Float.NaN;
                float[] output = product(DataType.F32, weight, rows, input);
                for (int i = 0; i < rows * outputs; i++) {
                    assertThat(Float.isNaN(output[i])).as("row %d output %d", i / outputs, i % outputs)
                            .isEqualTo(i / outputs == 2 || i % outputs == outputs - 1);
                }
            }
        }

        @Test
        void rows_are_looked_up_in_a_table_of_two_formats() {
            int columns = 4_352;                                   // 136 groups, more than a block of threads has
            Tensor table = weight(columns, WeightFormat.Q4_0, 3, WeightFormat.Q8_0, 2);
            Tensor rows = data.activations(4, columns);
            backend.embed(data.ints(4, 0, 3, 2), table, rows, 4);
            float[] q4 = widened(WeightFormat.Q4_0, 3 * columns);
            float[] q8 = widened(WeightFormat.Q8_0, 2 * columns);
            float[] actual = data.read(rows);
            assertThat(Arrays.copyOf(actual, columns)).containsExactly(Arrays.copyOfRange(q8, columns, 2 * columns));
            assertThat(Arrays.copyOfRange(actual, columns, 2 * columns)).containsExactly(Arrays.copyOf(q4, columns));
            assertThat(Arrays.copyOfRange(actual, 2 * columns, 3 * columns))
                    .containsExactly(Arrays.copyOf(q8, columns));
            assertThat(Arrays.copyOfRange(actual, 3 * columns, 4 * columns))
                    .containsExactly(Arrays.copyOfRange(q4, 2 * columns, 3 * columns));
        }

        @Test
        void rows_come_in_the_format_that_was_said_and_in_whole_blocks() {
            Tensor weight = backend.allocateWeight(256, List.of(new StoredRows(WeightFormat.Q4_K, 8)));
            assertThatIllegalArgumentException().isThrownBy(() -> backend.upload(weight, 0, 1, WeightFormat.Q8_0,
                    RandomBlocks.smallNumbers(WeightFormat.Q8_0, 256)))
                    .withMessage("rows that were to come as Q4_K come as Q8_0");
            assertThatIllegalArgumentException().isThrownBy(() -> backend.allocateWeight(48,
                    List.of(new StoredRows(WeightFormat.Q8_0, 8))))
                    .withMessage("a weight of rows that end within a block");
        }
    }

    @ParameterizedTest
    @CsvSource({"4096, 4096, 4096", "4104, 4096, 2056", "14336, 4096, 3584", "128256, 4096, 4008", "8, 131072, 8",
        "1024, 2097152, 8"})
    void ranges_are_of_about_the_same_size_and_none_is_larger_than_32_mebibytes(int outputs, int depth, int rows) {
        assertThat(BlockProducts.rangeRows(outputs, depth)).isEqualTo(rows);
    }
}
