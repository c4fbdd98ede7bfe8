package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every backend must do, row by row, against float64 written out here, in the narrowest rows that it takes. Sums
 * are float32: one of n products of size m may be off by about n · m · 2^-24 in the worst order, and half of that is
 * never seen. Where activations are bfloat16, a result is off by its rounding besides.
 */
public abstract class ComputeBackendContract {

    private static final double ULP = 0x1p-24;

    protected abstract ComputeBackend create();

    private ComputeBackend backend;
    private DeviceData data;

    @BeforeEach
    void open() {
        backend = create();
        data = new DeviceData(backend);
    }

    @AfterEach
    void close() {
        data.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098})
    void matmul_equals_float64_at_awkward_depths(int depth) {
        checkMatmul(5, data.width(37), data.width(depth));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098})
    void matmul_equals_float64_at_awkward_widths(int outputs) {
        checkMatmul(3, data.width(outputs), data.width(7));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 130})
    void matmul_equals_float64_at_awkward_row_counts(int rows) {
        checkMatmul(rows, data.width(33), 64);
    }

    /** A vocabulary of 32,001 is one: the ninth row was the first that no library would take. */
    @ParameterizedTest
    @ValueSource(ints = {8, 9, 16, 27})
    void matmul_equals_float64_for_a_head_of_an_odd_number_of_tokens(int rows) {
        float[] x = data.rounded(DeviceData.uniform(rows * 64, 1, 1));
        float[] w = data.rounded(DeviceData.uniform(37 * 64, 2, 1));
        Tensor logits = backend.allocate(DataType.F32, rows, 37);
        backend.matmul(data.activations(rows, 64, x), data.weight(37, 64, w), logits, rows);

        assertProduct(data.read(logits), x, w, 37, 64, _ -> 0);
    }

    private void checkMatmul(int rows, int outputs, int depth) {
        float[] x = data.rounded(DeviceData.uniform(rows * depth, 1, 1));
        float[] w = data.rounded(DeviceData.uniform(outputs * depth, 2, 1));
        Tensor input = data.activations(rows, depth, x);
        Tensor weight = data.weight(outputs, depth, w);
        Tensor y = data.activations(rows, outputs);
        Tensor logits = backend.allocate(DataType.F32, rows, outputs);
        backend.matmul(input, weight, y, rows);
        backend.matmul(input, weight, logits, rows);
        assertProduct(data.read(y), x, w, outputs, depth, data::storing);
        assertProduct(data.read(logits), x, w, outputs, depth, _ -> 0);
    }

    /** @param storing what a sum may lose when it is stored */
    private static void assertProduct(float[] actual, float[] x, float[] w, int outputs, int depth,
            DoubleUnaryOperator storing) {
        for (int index = 0; index < actual.length; index++) {
            double sum = 0;
            for (int k = 0; k < depth; k++) {
                sum += (double) x[index / outputs * depth + k] * w[index % outputs * depth + k];
            }
            double rounding = ULP * (depth + 1);
            assertThat((double) actual[index]).isCloseTo(sum, within(rounding + storing.applyAsDouble(sum)));
        }
    }

    @Test
    void matmul_writes_only_the_rows_asked_for_and_computes_them_alone_as_in_a_crowd() {
        int depth = data.width(33);
        int outputs = data.width(50);
        float[] x = data.rounded(DeviceData.uniform(9 * depth, 1, 1));
        Tensor input = data.activations(9, depth, x);
        Tensor weight = data.weight(outputs, depth, DeviceData.uniform(outputs * depth, 2, 1));
        Tensor crowd = data.activations(9, outputs);
        backend.matmul(input, weight, crowd, 8);
        float[] together = data.read(crowd);
        assertThat(Arrays.copyOfRange(together, 8 * outputs, 9 * outputs)).containsOnly(0f);
        for (int row = 0; row < 8; row++) {
            Tensor alone = data.activations(1, outputs);
            float[] one = Arrays.copyOfRange(x, row * depth, (row + 1) * depth);
            backend.matmul(data.activations(1, depth, one), weight, alone, 1);
            data.assertSame(data.read(alone), Arrays.copyOfRange(together, row * outputs, (row + 1) * outputs),
                    /* sums are below 16 */ 16 * 0x1p-7);
        }
    }

    @Test
    void bf16_and_f32_uploads_join_into_one_weight_and_may_be_unaligned() {
        int columns = data.width(2);
        Tensor weight = backend.allocateWeight(3, columns);
        MemorySegment bf16 = data.bf16(DeviceData.padded(2, columns, 1, 2, 3, 4));
        MemorySegment unaligned = data.arena().allocate(bf16.byteSize() + 1).asSlice(1).copyFrom(bf16);
        backend.upload(weight, 0, 2, WeightFormat.BF16, unaligned);
        backend.upload(weight, 2, 1, WeightFormat.F32, data.segment(DeviceData.padded(1, columns, 5, 6.5f)));
        Tensor rows = data.activations(3, columns);
        backend.embed(data.ints(2, 0, 1), weight, rows, 3);
        assertThat(data.readLeading(rows, 2)).containsExactly(5, 6.5f, 1, 2, 3, 4);
    }

    /** More columns than any loop takes at a time, an odd number of them, and formats that change within a panel. */
    @Test
    void a_weight_computes_as_its_float32_values_do_whatever_format_its_rows_came_in() {
        int depth = data.width(577);
        int outputs = data.width(165);
        float[] w = DeviceData.uniform(outputs * depth, 2, 1);
        for (int i = 0; i < w.length; i++) {
            w[i] = Bf16.toFloat(Bf16.of(w[i]));
        }
        Tensor plain = data.weight(outputs, depth, w);
        Tensor mixed = backend.allocateWeight(outputs, depth);
        int[] edges = {0, 1, 37, 128, 140, outputs};
        for (int i = 0; i + 1 < edges.length; i++) {
            float[] rows = Arrays.copyOfRange(w, edges[i] * depth, edges[i + 1] * depth);
            boolean isBf16 = i % 2 == 1;
            backend.upload(mixed, edges[i], edges[i + 1] - edges[i], isBf16 ? WeightFormat.BF16 : WeightFormat.F32,
                    isBf16 ? data.bf16(rows) : data.segment(rows));
        }
        float[] x = data.rounded(DeviceData.uniform(5 * depth, 1, 1));
        Tensor input = data.activations(5, depth, x);
        float[] expected = product(input, plain, 5);
        double tolerance = 64 * 0x1p-7;                         // sums are below 64
        data.assertSame(product(input, mixed, 5), expected, tolerance);
        for (int row = 0; row < 5; row++) {
            Tensor alone = data.activations(1, depth, Arrays.copyOfRange(x, row * depth, (row + 1) * depth));
            data.assertSame(product(alone, mixed, 1), Arrays.copyOfRange(expected, row * outputs, (row + 1) * outputs),
                    tolerance);
        }
    }

    private float[] product(Tensor input, Tensor weight, int rows) {
        Tensor output = data.activations(rows, weight.rows());
        backend.matmul(input, weight, output, rows);
        return data.read(output);
    }

    /**
     * The last rows have another format, which begins within a panel. One row of x goes another way than several, and
     * many more another.
     */
    @ParameterizedTest
    @EnumSource
    void a_product_with_a_weight_of_any_format_is_that_with_its_float32_values(WeightFormat format) {
        int depth = 768;
        int outputs = 136;
        int others = 40;
        WeightFormat[] formats = WeightFormat.values();
        WeightFormat other = formats[(format.ordinal() + 1) % formats.length];
        int split = (outputs - others) * depth;
        MemorySegment first = RandomBlocks.smallNumbers(format, split);
        MemorySegment last = RandomBlocks.smallNumbers(other, others * depth);
        float[] widened = new float[outputs * depth];
        format.widen(first, 0, split, widened);
        float[] lastRows = new float[others * depth];
        other.widen(last, 0, lastRows.length, lastRows);
        System.arraycopy(lastRows, 0, widened, split, lastRows.length);
        Tensor plain = data.weight(outputs, depth, widened);
        Tensor stored = backend.allocateWeight(depth,
                List.of(new StoredRows(format, outputs - others), new StoredRows(other, others)));
        backend.upload(stored, 0, outputs - others, format, first);
        backend.upload(stored, outputs - others, others, other, last);
        for (int rows : new int[] {1, 2, 7, 40}) {
            Tensor input = data.activations(rows, depth, data.rounded(DeviceData.uniform(rows * depth, rows, 1)));
            float[] expected = product(input, plain, rows);
            data.assertSame(product(input, stored, rows), expected, greatest(expected) * 0x1p-6);
        }
    }

    private static double greatest(float[] values) {
        double most = 0;
        for (float value : values) {
            most = Math.max(most, Math.abs(value));
        }
        return most;
    }

    @Test
    void rows_of_a_weight_that_nothing_was_uploaded_to_are_zeros() {
        int depth = data.width(33);
        int outputs = data.width(200);
        Tensor weight = backend.allocateWeight(outputs, depth);
        backend.upload(weight, 100, 1, WeightFormat.F32, data.segment(DeviceData.uniform(depth, 2, 1)));
        float[] sums = product(data.activations(2, depth, data.rounded(DeviceData.uniform(2 * depth, 1, 1))), weight, 2);
        for (int i = 0; i < sums.length; i++) {
            assertThat(sums[i] != 0).as("output %d", i % outputs).isEqualTo(i % outputs == 100);
        }
        Tensor rows = data.activations(2, depth);
        backend.embed(data.ints(0, outputs - 1), weight, rows, 2);
        assertThat(data.read(rows)).containsOnly(0f);
    }

    @ParameterizedTest
    @EnumSource
    void weights_of_every_format_are_worth_what_widening_makes_of_them(WeightFormat format) {
        int columns = 512;
        MemorySegment values = RandomBlocks.smallNumbers(format, 3 * columns);
        float[] widened = new float[3 * columns];
        format.widen(values, 0, widened.length, widened);
        Tensor weight = backend.allocateWeight(columns, List.of(new StoredRows(format, 3)));
        backend.upload(weight, 1, 2, format, values.asSlice(format.bytes(columns)));
        backend.upload(weight, 0, 1, format, values.asSlice(0, format.bytes(columns)));
        Tensor rows = data.activations(3, columns);
        backend.embed(data.ints(0, 1, 2), weight, rows, 3);
        assertThat(data.read(rows)).containsExactly(data.rounded(widened));
    }

    @Test
    void an_upload_does_not_end_within_a_block() {
        Tensor weight = backend.allocateWeight(2, 48);
        assertThatIllegalArgumentException().isThrownBy(() -> backend.upload(weight, 0, 2, WeightFormat.Q8_0,
                MemorySegment.ofArray(new byte[3 * 34]))).withMessage("upload of rows that end within a block");
    }

    @Test
    void only_weights_take_uploads() {
        assertThatIllegalArgumentException().isThrownBy(() -> backend.upload(data.ints(1, 2), 0, 1, WeightFormat.F32,
                data.segment(new float[1])));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098})
    void rms_norm_equals_float64_with_and_without_the_residual(int least) {
        int columns = data.width(least);
        float[] x = data.rounded(DeviceData.uniform(2 * columns, 3, 4));
        float[] addend = data.rounded(DeviceData.uniform(2 * columns, 4, 4));
        float[] w = DeviceData.uniform(columns, 5, 2);
        Tensor residual = data.activations(2, columns, x);
        Tensor weight = data.floats(1, columns, w);
        Tensor plain = data.activations(2, columns);
        Tensor added = data.activations(2, columns);
        backend.rmsNorm(residual, weight, 1e-5f, plain, 2);
        backend.addRmsNorm(residual, data.activations(2, columns, addend), weight, 1e-5f, added, 2);
        checkNorm(x, w, data.read(plain));
        float[] sum = new float[x.length];
        for (int i = 0; i < x.length; i++) {
            sum[i] = x[i] + addend[i];
        }
        float[] kept = data.rounded(sum);
        assertThat(data.read(residual)).containsExactly(kept);
        checkNorm(kept, w, data.read(added));
    }

    @Test
    void rms_norm_may_leave_its_result_where_its_input_was() {
        int columns = data.width(9_001);
        float[] x = data.rounded(DeviceData.uniform(2 * columns, 3, 4));
        float[] w = DeviceData.uniform(columns, 5, 2);
        Tensor rows = data.activations(2, columns, x);
        backend.rmsNorm(rows, data.floats(1, columns, w), 1e-5f, rows, 2);
        checkNorm(x, w, data.read(rows));
    }

    private void checkNorm(float[] x, float[] w, float[] actual) {
        for (int i = 0; i < x.length; i++) {
            int start = i / w.length * w.length;
            double squares = 0;
            for (int j = 0; j < w.length; j++) {
                squares += (double) x[start + j] * x[start + j];
            }
            double expected = x[i] / Math.sqrt(squares / w.length + 1e-5f) * w[i - start];
            // the sum's error is relative to the sum itself: all terms are positive
            assertThat((double) actual[i]).isCloseTo(expected,
                    within(Math.abs(expected) * ULP * (8 + w.length) + data.storing(expected)));
        }
    }

    @Test
    void rms_norm_of_zeros_is_zero_and_of_huge_values_is_finite() {
        int columns = data.width(3);
        float[] huge = new float[2 * columns];
        float[] ones = new float[columns];
        for (int column = 0; column < columns; column++) {
            huge[columns + column] = column % 2 == 0 ? 1e18f : -1e18f;
            ones[column] = 1;
        }
        Tensor output = data.activations(2, columns);
        backend.rmsNorm(data.activations(2, columns, huge), data.floats(1, columns, ones), 1e-5f, output, 2);
        float[] normed = data.read(output);
        assertThat(Arrays.copyOf(normed, columns)).containsOnly(0f);
        assertThat(normed[columns]).isCloseTo(1, within(1e-6f));
        assertThat(normed[columns + 1]).isCloseTo(-1, within(1e-6f));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098})
    void gates_equal_float64_at_extremes_too(int least) {
        checkGate(least, GateActivation.SILU, x -> x / (1 + Math.exp(-x)));
        checkGate(least, GateActivation.GELU_TANH,
                x -> x / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))));
    }

    private void checkGate(int least, GateActivation activation, DoubleUnaryOperator function) {
        int columns = data.width(least);
        float[] x = data.rounded(DeviceData.uniform(2 * 2 * columns, 6, 20));
        x[0] = 200;
        x[2 * columns] = -200;
        Tensor output = data.activations(2, columns);
        backend.gate(data.activations(2, 2 * columns, x), activation, output, 2);
        float[] actual = data.read(output);
        for (int i = 0; i < actual.length; i++) {
            int start = i / columns * 2 * columns + i % columns;
            double expected = function.applyAsDouble(x[start]) * x[start + columns];
            // below e^-87 float32 has no normal numbers, and 1 + tanh loses 53 bits: tiny results differ by as much
            assertThat((double) actual[i]).isCloseTo(expected,
                    within(Math.abs(expected) * 16 * ULP * (1 + Math.abs(x[start])) + 1e-13 + data.storing(expected)));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098})
    void scaling_multiplies_the_leading_rows_in_place(int least) {
        int columns = data.width(least);
        float[] x = data.rounded(DeviceData.uniform(3 * columns, 6, 20));
        Tensor rows = data.activations(3, columns, x);
        backend.scale(rows, 0.22f, 2);
        float[] actual = data.read(rows);
        for (int i = 0; i < x.length; i++) {
            double expected = i < 2 * columns ? x[i] * (double) 0.22f : x[i];
            assertThat((double) actual[i]).isCloseTo(expected,
                    within(Math.abs(expected) * ULP + data.storing(expected)));
        }
    }

    /** Logits come in rows of any width. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 4098, 4099})
    void a_soft_cap_bounds_the_leading_rows_in_place(int columns) {
        float[] x = DeviceData.uniform(3 * columns, 6, 100);
        x[0] = -1e30f;
        x[columns] = 1e30f;
        Tensor logits = data.floats(3, columns, x);
        backend.softCap(logits, 30, 2);
        float[] actual = data.read(logits);
        for (int i = 0; i < x.length; i++) {
            double expected = i < 2 * columns ? 30 * Math.tanh(x[i] / 30) : x[i];
            assertThat((double) actual[i]).isCloseTo(expected, within(30 * 16 * ULP));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> backend.softCap(logits, 0, 2));
    }

    @Test
    void gather_begins_at_the_index_asked_which_is_a_multiple_of_four() {
        int columns = data.width(2);
        Tensor input = data.leading(3, columns, 1, 2, 3, 4, 5, 6);
        Tensor output = data.activations(2, columns);
        backend.gatherRows(input, data.ints(0, 0, 0, 0, 2, 1), 4, output, 2);
        assertThat(data.readLeading(output, 2)).containsExactly(5, 6, 3, 4);
        assertThatIllegalArgumentException().isThrownBy(
                () -> backend.gatherRows(input, data.ints(0, 1, 2, 2, 1), 4, output, 2));
        assertThatIllegalArgumentException().isThrownBy(
                () -> backend.gatherRows(input, data.ints(0, 1, 2, 2, 1), 2, output, 2))
                .withMessage("indexes are read from multiples of 4 on");
    }

    @Test
    void gather_takes_rows_in_the_order_asked() {
        int columns = data.width(2);
        Tensor output = data.activations(4, columns);
        backend.gatherRows(data.leading(3, columns, 1, 2, 3, 4, 5, 6), data.ints(2, 0, 2), output, 3);
        assertThat(data.readLeading(output, 2)).containsExactly(5, 6, 1, 2, 5, 6, 0, 0);
    }

    @Test
    void wrong_shapes_types_and_sizes_are_refused_at_the_call() {
        int columns = data.width(2);
        Tensor two = data.leading(2, columns, 1, 2, 3, 4);
        Tensor weight = data.weight(3, columns, new float[3 * columns]);
        assertThatIllegalArgumentException().isThrownBy(() -> backend.matmul(two, weight, two, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.gatherRows(two, two, two, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.gate(two, GateActivation.SILU, two, 2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.write(two, data.segment(new float[2 * columns + 1])));
        assertThatIllegalArgumentException().isThrownBy(
                () -> backend.upload(weight, 2, 2, WeightFormat.F32, data.segment(new float[2 * columns])));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 33, 130})
    void fed_rows_take_the_drawn_token_and_the_others_stay(int rows) {
        int[] drawn = new int[rows];
        int[] sources = new int[rows];
        int[] tokens = new int[rows];
        Arrays.setAll(drawn, row -> 1000 + row);
        Arrays.setAll(sources, row -> row % 3 == 1 ? -1 : rows - 1 - row);
        Arrays.setAll(tokens, row -> row);
        Tensor target = data.ints(tokens);
        var sampled = new SampledTokens(data.ints(drawn), backend.allocate(DataType.F32, rows, 1));
        backend.feedTokens(sampled, data.ints(sources), target, rows);
        int[] fed = data.readInts(target);
        for (int row = 0; row < rows; row++) {
            assertThat(fed[row]).isEqualTo(row % 3 == 1 ? row : 1000 + rows - 1 - row);
        }
    }

    @Test
    void feeding_takes_a_row_twice_and_token_0_for_one_that_was_not_drawn_and_stops_at_the_row_count() {
        var sampled = new SampledTokens(data.ints(41, SampledTokens.NO_TOKEN), data.floats(2, 1, 0, 0));
        Tensor tokens = data.ints(1, 2, 3, 4, 5);
        backend.feedTokens(sampled, data.ints(0, 1, 0, -1, 0), tokens, 4);
        assertThat(data.readInts(tokens)).containsExactly(41, 0, 41, 4, 5);
        backend.feedTokens(sampled, data.ints(0), tokens, 0);
        assertThat(data.readInts(tokens)).containsExactly(41, 0, 41, 4, 5);
    }

    @Test
    void what_a_step_drew_feeds_the_next_without_waiting_and_survives_it() {
        // the next token's logit is the largest in the row of each token: 0 -> 2 -> 1 -> 0
        int columns = data.width(3);
        Tensor table = data.weight(3, columns, DeviceData.padded(3, columns, 0, 0, 1, 1, 0, 0, 0, 1, 0));
        Tensor head = data.weight(3, columns, DeviceData.padded(3, columns, 1, 0, 0, 0, 1, 0, 0, 0, 1));
        Tensor tokens = data.ints(0);
        Tensor hidden = data.activations(1, columns);
        Tensor logits = backend.allocate(DataType.F32, 1, 3);
        var inputs = new SamplingInputs(data.longs(0), data.ints(0), data.floats(1, 1, 0), data.ints(0),
                data.floats(1, 1, 1), data.ints(1));
        var steps = new Completion[3];
        var ring = new SampledTokens[3];
        for (int step = 0; step < 3; step++) {
            ring[step] = new SampledTokens(data.ints(-7), data.floats(1, 1, 0));
            if (step > 0) {
                backend.feedTokens(ring[step - 1], data.ints(0), tokens, 1);
            }
            backend.embed(tokens, table, hidden, 1);
            backend.matmul(hidden, head, logits, 1);
            backend.sample(logits, inputs, ring[step], 1);
            steps[step] = backend.submit(ring[step], 1);
        }
        var output = new StepOutput(1);
        int[] drawn = new int[3];
        for (int step = 0; step < 3; step++) {
            backend.await(steps[step], output);
            drawn[step] = output.token(0);
        }
        assertThat(drawn).containsExactly(2, 1, 0);
    }

    @Test
    void outstanding_steps_keep_their_results_and_are_awaited_in_order() {
        var first = new SampledTokens(data.ints(1), data.floats(1, 1, -1));
        var second = new SampledTokens(data.ints(2, 3), data.floats(2, 1, -2, -3));
        var third = new SampledTokens(data.ints(4), data.floats(1, 1, -4));
        Completion one = backend.submit(first, 1);
        Completion two = backend.submit(second, 2);
        Completion three = backend.submit(third, 0);
        var output = new StepOutput(2);
        assertThatIllegalStateException().isThrownBy(() -> backend.await(two, output));
        assertThatIllegalStateException().isThrownBy(() -> backend.await(three, output));
        backend.await(one, output);
        assertThat(output.token(0)).isEqualTo(1);
        Completion four = backend.submit(first, 1);
        assertThatIllegalArgumentException().isThrownBy(() -> backend.await(two, new StepOutput(1)))
                .withMessage("step brings 2 tokens, the output takes 1");
        backend.await(two, output);
        assertThat(output.token(1)).isEqualTo(3);
        assertThat(output.logprob(1)).isEqualTo(-3);
        backend.await(three, output);
        assertThat(output.count()).isZero();
        backend.await(four, output);
        assertThat(output.token(0)).isEqualTo(1);
        assertThatIllegalStateException().isThrownBy(() -> backend.await(four, output));
    }

    @Test
    void unusable_logits_are_their_rows_own() {
        var inputs = new SamplingInputs(data.longs(0, 0), data.ints(0, 0), data.floats(2, 1, 0, 0), data.ints(0, 0),
                data.floats(2, 1, 1, 1), data.ints(0, 0));
        float[][] logits = {{1, 2, 3, 0}, {1, 2, Float.NaN, 0}, {2, 1, 0, 3}};
        var steps = new Completion[3];
        for (int step = 0; step < 3; step++) {
            var sampled = new SampledTokens(data.ints(9, 9), data.floats(2, 1, 0, 0));
            backend.sample(data.floats(2, 2, logits[step]), inputs, sampled, 2);
            steps[step] = backend.submit(sampled, 2);
        }
        var output = new StepOutput(2);
        backend.await(steps[0], output);
        assertThat(output.token(0)).isEqualTo(1);
        backend.await(steps[1], output);
        assertThat(output.token(0)).isEqualTo(1);
        assertThat(output.isUsable(1)).isFalse();
        backend.await(steps[2], output);
        assertThat(output.token(0)).isZero();
        assertThat(output.token(1)).isEqualTo(1);
    }

    @Test
    void a_step_is_awaited_once_and_its_tensors_are_its_own_until_then() {
        var sampled = new SampledTokens(data.ints(7, 8), data.floats(2, 1, -0.5f, Float.NaN));
        var output = new StepOutput(2);
        Completion step = backend.submit(sampled, 2);
        assertThatIllegalStateException().isThrownBy(() -> backend.submit(sampled, 2));
        backend.await(step, output);
        assertThat(output.count()).isEqualTo(2);
        assertThat(output.token(1)).isEqualTo(8);
        assertThat(output.logprob(0)).isEqualTo(-0.5f);
        assertThatIllegalStateException().isThrownBy(() -> backend.await(step, output));
        backend.await(backend.submit(sampled, 0), output);
        assertThat(output.count()).isZero();
    }

    @Test
    void a_block_takes_the_bytes_of_its_keys_and_values() {
        assertThat(backend.bytesPerBlock(new CacheShape(/* layers */ 3, 1, data.headSize(2), data.blockSize(4))))
                .isEqualTo(3L * /* K and V */ 2 * data.blockSize(4) * data.headSize(2) * backend.cacheType().bytes());
    }
}
