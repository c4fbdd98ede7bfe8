package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@link ScoredTokens} says, with distributions small enough to check by hand; large ones are held to a sort. */
public abstract class ScoringContract extends DrawingContract {

    private static final float NEVER = Float.NEGATIVE_INFINITY;
    /** Sums are of float32 numbers in places; log-probabilities of some tens are rounded to it. */
    private static final Offset<Float> TOLERANCE = within(4e-6f);

    private StepOutput score(float[][] rows, int[] targets, int[] counts) {
        return score(rows, targets, counts, 0);
    }

    /** @param firstRow so many rows are asked and told before, of other logits */
    private StepOutput score(float[][] rows, int[] targets, int[] counts, int firstRow) {
        int size = rows[0].length;
        int all = firstRow + rows.length;
        float[] logits = new float[rows.length * size];
        for (int row = 0; row < rows.length; row++) {
            System.arraycopy(rows[row], 0, logits, row * size, size);
        }
        int[] shiftedTargets = new int[all];
        int[] shiftedCounts = new int[all];
        System.arraycopy(targets, 0, shiftedTargets, firstRow, rows.length);
        System.arraycopy(counts, 0, shiftedCounts, firstRow, rows.length);
        var inputs = new ScoreInputs(data.ints(shiftedTargets), data.ints(shiftedCounts));
        ComputeBackend backend = data.backend();
        ScoredTokens scored = ScoredTokens.allocate(backend, all);
        Tensor tensor = data.floats(rows.length, size, logits);
        if (firstRow > 0) {
            backend.score(data.floats(firstRow, size, new float[firstRow * size]), inputs, scored, 0, firstRow);
        }
        backend.score(tensor, inputs, scored, firstRow, rows.length);
        assertThat(data.read(tensor)).as("logits stay").containsExactly(logits);
        var sampled = new SampledTokens(data.ints(7), data.floats(1, 1, -1));
        var output = new StepOutput(1, all);
        backend.await(backend.submit(sampled, 1, scored, all), output);
        assertThat(output.token(0)).isEqualTo(7);
        assertThat(output.scoredCount()).isEqualTo(all);
        return output;
    }

    private static int[] topIds(StepOutput output, int row, int count) {
        return IntStream.range(0, count).map(place -> output.topId(row, place)).toArray();
    }

    @Test
    void the_likeliest_come_first_the_lower_id_first_among_equals_and_share_the_last_of_their_ranks() {
        StepOutput output = score(new float[][] {FOUR_ONE_FOUR_ONE, FOUR_ONE_FOUR_ONE, FOUR_ONE_FOUR_ONE},
                new int[] {2, 1, 0}, new int[] {4, 3, 0});

        assertThat(topIds(output, 0, 4)).containsExactly(0, 2, 1, 3);
        assertThat(topIds(output, 1, 3)).containsExactly(0, 2, 1);
        for (int place = 0; place < 4; place++) {
            assertThat(output.topLogprob(0, place)).isCloseTo((float) Math.log(place < 2 ? 0.4 : 0.1), TOLERANCE);
        }
        assertThat(output.scoredLogprob(0)).isCloseTo((float) Math.log(0.4), TOLERANCE);
        assertThat(output.scoredLogprob(1)).isCloseTo((float) Math.log(0.1), TOLERANCE);
        assertThat(output.scoredLogprob(2)).isEqualTo(output.scoredLogprob(0)).isEqualTo(output.topLogprob(0, 1));
        assertThat(new int[] {output.rank(0), output.rank(1), output.rank(2)}).containsExactly(2, 4, 2);
    }

    @Test
    void zero_and_minus_zero_are_equal_logits() {
        StepOutput output = score(new float[][] {{-0f, 0f, -1f}, {0f, -0f, -1f}}, new int[] {0, 0}, new int[] {2, 2});

        assertThat(topIds(output, 0, 2)).containsExactly(0, 1);
        assertThat(topIds(output, 1, 2)).containsExactly(0, 1);
        assertThat(output.rank(0)).isEqualTo(2);
        assertThat(output.rank(1)).isEqualTo(2);
    }

    @Test
    void what_the_model_excludes_has_minus_infinity_and_comes_last() {
        StepOutput output = score(new float[][] {{NEVER, 5f, NEVER, NEVER}}, new int[] {3}, new int[] {3});

        assertThat(topIds(output, 0, 3)).containsExactly(1, 0, 2);
        assertThat(output.topLogprob(0, 0)).isEqualTo(0f);
        assertThat(output.topLogprob(0, 1)).isEqualTo(NEVER);
        assertThat(output.scoredLogprob(0)).isEqualTo(NEVER);
        assertThat(output.rank(0)).as("as likely as the other two").isEqualTo(4);
    }

    @Test
    void of_unusable_logits_nothing_is_told_and_of_their_neighbours_everything() {
        float nan = Float.NaN;
        float infinite = Float.POSITIVE_INFINITY;
        StepOutput output = score(new float[][] {
                {1, nan, 2}, {infinite, 0, 0}, {NEVER, NEVER, NEVER}, {0, 1, 2}, {0, 0, nan}},
                new int[] {0, 0, 0, 2, ScoreInputs.NO_TARGET}, new int[] {3, 0, 3, 1, 2});

        assertThat(IntStream.range(0, 5).filter(output::isScored)).containsExactly(3);
        assertThat(output.rank(3)).isEqualTo(1);
        assertThat(topIds(output, 3, 1)).containsExactly(2);
    }

    @Test
    void rows_are_told_where_they_belong() {
        StepOutput output = score(new float[][] {{0, 3, 1}, {2, 0, 1}}, new int[] {2, ScoreInputs.NO_TARGET},
                new int[] {1, 2}, /* firstRow */ 3);

        assertThat(topIds(output, 3, 1)).containsExactly(1);
        assertThat(output.rank(3)).isEqualTo(2);
        assertThat(topIds(output, 4, 2)).containsExactly(0, 2);
        assertThat(output.isScored(4)).isTrue();
        assertThat(output.rank(0)).as("the first of three equals").isEqualTo(3);
    }

    /** Sizes around those of vectors and of a device's slices and threads. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 33, 513, 4098})
    void whatever_the_size_it_is_what_a_sort_finds(int size) {
        var random = new SplittableRandom(size);
        int rowCount = 6;
        float[][] rows = new float[rowCount][size];
        int[] targets = new int[rowCount];
        int[] counts = new int[rowCount];
        for (int row = 0; row < rowCount; row++) {
            for (int id = 0; id < size; id++) {
                // many equal ones in some rows, ascending ones in another: each enters the list of the likeliest
                rows[row][id] = row < 2 ? random.nextInt(-9, 9) : row == 2 ? id / 64f
                        : random.nextInt(50) == 0 ? NEVER : (float) random.nextDouble(-20, 20);
            }
            rows[row][random.nextInt(size)] = 9;
            targets[row] = row == 4 ? ScoreInputs.NO_TARGET : random.nextInt(size);
            counts[row] = Math.min(size, new int[] {20, 5, 20, 1, 20, 0}[row]);
        }

        StepOutput output = score(rows, targets, counts);

        for (int row = 0; row < rowCount; row++) {
            float[] logits = rows[row];
            int[] sorted = IntStream.range(0, size).boxed()
                    .sorted(Comparator.<Integer>comparingDouble(id -> -logits[id] + 0f).thenComparingInt(id -> id))
                    .mapToInt(Integer::intValue).toArray();
            double sum = 0;
            for (float logit : logits) {
                sum += Math.exp(logit);
            }
            assertThat(topIds(output, row, counts[row])).as("row %d", row)
                    .containsExactly(Arrays.copyOf(sorted, counts[row]));
            for (int place = 0; place < counts[row]; place++) {
                assertClose(output.topLogprob(row, place), logits[sorted[place]] - Math.log(sum));
            }
            if (targets[row] >= 0) {
                float own = logits[targets[row]];
                int atLeast = 0;
                for (float logit : logits) {
                    atLeast += logit >= own ? 1 : 0;
                }
                assertThat(output.rank(row)).isEqualTo(atLeast);
                assertClose(output.scoredLogprob(row), own - Math.log(sum));
            }
        }
    }

    private static void assertClose(float actual, double expected) {
        if (Double.isInfinite(expected)) {
            assertThat(actual).isEqualTo((float) expected);
        } else {
            assertThat(actual).isCloseTo((float) expected, TOLERANCE);
        }
    }

    @Test
    void a_likelihood_is_the_same_number_wherever_it_is_told() {
        float[] logits = DeviceData.uniform(1_000, 3, 4);
        StepOutput scored = score(new float[][] {logits}, new int[] {17}, new int[] {20});
        int best = scored.topId(0, 0);
        var inputs = new SamplingInputs(data.longs(0), data.ints(0), data.floats(1, 1, 0), data.ints(0),
                data.floats(1, 1, 1), data.ints(1));
        var sampled = new SampledTokens(data.ints(0), data.floats(1, 1, 0));
        data.backend().sample(data.floats(1, 1_000, logits), inputs, sampled, 1);
        var drawn = new StepOutput(1);
        data.backend().await(data.backend().submit(sampled, 1), drawn);

        assertThat(drawn.token(0)).isEqualTo(best);
        assertThat(drawn.logprob(0)).isEqualTo(scored.topLogprob(0, 0));
    }

    @Test
    void what_finds_no_room_is_refused() {
        var inputs = new ScoreInputs(data.ints(0, 0), data.ints(1, 1));
        ScoredTokens two = ScoredTokens.allocate(data.backend(), 2);
        Tensor logits = data.floats(2, 4, new float[8]);
        assertThatIllegalArgumentException().isThrownBy(() -> data.backend().score(logits, inputs, two, 1, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> data.backend().score(logits, inputs, two, -1, 1));
        var sampled = new SampledTokens(data.ints(7), data.floats(1, 1, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> data.backend().submit(sampled, 1, two, 3));
        assertThatIllegalArgumentException().isThrownBy(() -> data.backend().submit(sampled, 1, null, 1));
        data.backend().score(logits, inputs, two, 0, 2);
        Completion step = data.backend().submit(sampled, 1, two, 2);
        assertThatIllegalArgumentException().isThrownBy(() -> data.backend().await(step, new StepOutput(1, 1)))
                .withMessage("step tells likelihoods of 2 rows, the output takes 1");
        data.backend().await(step, new StepOutput(1, 2));
    }
}
