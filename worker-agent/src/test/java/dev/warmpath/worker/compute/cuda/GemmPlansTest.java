package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@OnEmulatedDevice
class GemmPlansTest {

    private static final String HEURISTIC = "cublasLtMatmulAlgoGetHeuristic";

    private OpenCard card;
    private GemmPlans gemm;

    @BeforeEach
    void open() {
        card = new OpenCard();
        gemm = card.device.gemm();
    }

    @AfterEach
    void close() {
        card.close();
    }

    @Test
    void buckets_are_of_16_rows_then_of_64_and_of_256() {
        assertThat(IntStream.of(1, 16, 17, 128, 129, 192, 1000, 1024, 1025, 8192).map(GemmPlans::bucket).toArray())
                .containsExactly(16, 16, 32, 128, 192, 192, 1024, 1024, 1280, 8192);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 16, 33, 129})
    void product_is_right_for_awkward_row_counts(int rows) {
        int outputs = 24;
        int depth = 40;
        short[] input = random(GemmPlans.bucket(rows) * depth, rows);
        short[] weight = random(outputs * depth, 99);
        // rows past those that count may hold anything
        Arrays.fill(input, rows * depth, input.length, (short) 0x7FC0);
        DevicePointer x = card.upload(input);
        DevicePointer w = card.upload(weight);
        DevicePointer floats = card.device.allocate(4L * GemmPlans.bucket(rows) * outputs, "float32 products");
        DevicePointer halves = card.device.allocate(2L * GemmPlans.bucket(rows) * outputs, "bfloat16 products");

        gemm.multiply(card.stream, x, w, floats, DataType.F32, rows, outputs, depth);
        gemm.multiply(card.stream, x, w, halves, DataType.BF16, rows, outputs, depth);

        float[] wide = card.floats(floats);
        short[] narrow = card.shorts(halves);
        for (int row = 0; row < rows; row++) {
            for (int output = 0; output < outputs; output++) {
                double exact = 0;
                double magnitude = 0;
                for (int k = 0; k < depth; k++) {
                    double term = (double) value(input[row * depth + k]) * value(weight[output * depth + k]);
                    exact += term;
                    magnitude += Math.abs(term);
                }
                double rounding = depth * 0x1p-24 * magnitude;
                int at = row * outputs + output;
                assertThat((double) wide[at]).as("row %d, output %d", row, output)
                        .isBetween(exact - rounding, exact + rounding);
                double half = rounding + Math.abs(exact) * 0x1p-8;
                assertThat((double) value(narrow[at])).as("row %d, output %d", row, output)
                        .isBetween(exact - half, exact + half);
            }
        }
    }

    private static short[] random(int count, long seed) {
        var random = new SplittableRandom(seed);
        var values = new short[count];
        for (int i = 0; i < count; i++) {
            values[i] = (short) (Float.floatToIntBits((float) random.nextDouble(-1, 1)) >>> 16);
        }
        return values;
    }

    private static float value(short bf16) {
        return Float.intBitsToFloat(bf16 << 16);
    }

    private void multiply(DataType type, int rows, int outputs, int depth) {
        DevicePointer memory = card.device.allocate(1 << 20, "matrices");
        DevicePointer products = card.device.allocate(1 << 20, "products");
        gemm.multiply(card.stream, memory, memory, products, type, rows, outputs, depth);
        card.stream.synchronize();
        card.device.free(products);
        card.device.free(memory);
    }

    @Test
    void algorithm_is_asked_for_once_per_bucket_shape_and_type() {
        multiply(DataType.F32, 17, 16, 32);
        multiply(DataType.F32, 32, 16, 32);
        multiply(DataType.F32, 25, 16, 32);
        assertThat(card.fake.calls(HEURISTIC)).isEqualTo(1);

        multiply(DataType.F32, 33, 16, 32);
        multiply(DataType.BF16, 17, 16, 32);
        multiply(DataType.F32, 17, 24, 32);
        multiply(DataType.F32, 17, 16, 40);
        assertThat(card.fake.calls(HEURISTIC)).isEqualTo(5);
        assertThat(card.fake.calls("cublasLtMatmul")).isEqualTo(7);
    }

    @Test
    void plans_not_used_for_the_longest_time_make_room() {
        for (int i = 1; i <= 256; i++) {
            multiply(DataType.BF16, 1, 8 * i, 8);
        }
        int full = card.fake.live("cublas");
        assertThat(full).as("library, product, preference and 256 plans of three layouts").isEqualTo(3 + 256 * 3);
        multiply(DataType.BF16, 1, 8, 8);
        multiply(DataType.BF16, 1, 8 * 257, 8);
        assertThat(card.fake.live("cublas")).isEqualTo(full);

        multiply(DataType.BF16, 1, 8, 8);
        assertThat(card.fake.calls(HEURISTIC)).as("the first shape was used after the second").isEqualTo(257);
        multiply(DataType.BF16, 1, 16, 8);
        assertThat(card.fake.calls(HEURISTIC)).as("which had to go").isEqualTo(258);
    }

    @Test
    void product_is_captured_and_replayed() {
        DevicePointer x = card.upload(new short[16 * 8]);
        DevicePointer w = card.upload(random(8 * 8, 1));
        DevicePointer y = card.device.allocate(4 * 16 * 8, "products");
        card.stream.beginCapture();
        gemm.multiply(card.stream, x, w, y, DataType.F32, 16, 8, 8);
        CudaGraph graph = card.stream.endCapture();
        card.stream.fill(x, (byte) 0x3F);

        graph.launch(card.stream);

        float each = value((short) 0x3F3F);
        float sum = 0;
        for (int k = 0; k < 8; k++) {
            sum += each * value(random(8 * 8, 1)[k]);
        }
        assertThat(card.floats(y)[0]).isEqualTo(sum);
    }

    @Test
    void matrices_that_are_too_small_for_the_bucket_are_refused() {
        DevicePointer small = card.device.allocate(2 * 15 * 8, "activations");
        DevicePointer enough = card.device.allocate(4096, "enough");

        assertThatThrownBy(() -> gemm.multiply(card.stream, small, enough, enough, DataType.BF16, 15, 8, 8))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("256 bytes are needed of activations, which has 240");
        assertThatThrownBy(() -> gemm.multiply(card.stream, enough, enough, small, DataType.BF16, 15, 8, 8))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> gemm.multiply(card.stream, enough, enough, enough, DataType.I32, 15, 8, 8))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void refusal_names_the_product_and_leaves_no_plan() {
        int before = card.fake.live("cublas");
        card.fake.fail(HEURISTIC, 1, 15);
        assertThatThrownBy(() -> multiply(DataType.BF16, 20, 16, 8)).isInstanceOf(ComputeException.class).hasMessage(
                HEURISTIC + ": CUBLAS_STATUS_NOT_SUPPORTED (15), a product [32, 16] of depth 8 into rows of 16 BF16");
        assertThat(card.fake.live("cublas")).isEqualTo(before);

        card.fake.fail("cublasLtMatmul", 1, 13);
        assertThatThrownBy(() -> multiply(DataType.BF16, 20, 16, 8)).isInstanceOf(ComputeException.class).hasMessage(
                "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13), a product [32, 16] of depth 8 into rows of 16 "
                        + "BF16");

        DevicePointer whole = card.upload(new short[32 * 40]);
        card.fake.fail(HEURISTIC, 1, 15);
        assertThatThrownBy(() -> gemm.multiply(card.stream, whole, whole, whole, DataType.BF16, 20, 16, 8, 40))
                .as("into 16 of 40 columns").hasMessageEndingWith("a product [32, 16] of depth 8 into rows of 40 BF16");
    }
}
