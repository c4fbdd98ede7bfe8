package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule of {@link Sampling}, with distributions small enough to check by hand. */
public abstract class SamplingContract extends DrawingContract {

    private StepOutput draw(float[] logits, int counter, Sampling sampling) {
        return draw(logits, counter, sampling, 1);
    }

    /** One row a draw, all of the same logits; the counter goes up by one from row to row. */
    private StepOutput draw(float[] logits, int firstCounter, Sampling sampling, int draws) {
        float[] rows = new float[draws * logits.length];
        long[] seeds = new long[draws];
        int[] counters = new int[draws];
        float[] temperatures = new float[draws];
        int[] topKs = new int[draws];
        float[] topPs = new float[draws];
        int[] logprobs = new int[draws];
        for (int row = 0; row < draws; row++) {
            System.arraycopy(logits, 0, rows, row * logits.length, logits.length);
            seeds[row] = sampling.seed();
            counters[row] = firstCounter + row;
            temperatures[row] = sampling.temperature();
            topKs[row] = sampling.topK();
            topPs[row] = sampling.topP();
            logprobs[row] = sampling.logprob() ? 1 : 0;
        }
        var inputs = new SamplingInputs(data.longs(seeds), data.ints(counters), data.floats(draws, 1, temperatures),
                data.ints(topKs), data.floats(draws, 1, topPs), data.ints(logprobs));
        var sampled = new SampledTokens(data.ints(new int[draws]), data.floats(draws, 1, new float[draws]));
        data.backend().sample(data.floats(draws, logits.length, rows), inputs, sampled, draws);
        var output = new StepOutput(draws);
        data.backend().await(data.backend().submit(sampled, draws), output);
        return output;
    }

    private int[] histogram(float[] logits, int draws, float temperature, int topK, float topP) {
        int[] counts = new int[logits.length];
        StepOutput drawn = draw(logits, 0, new Sampling(42, temperature, topK, topP, false), draws);
        for (int row = 0; row < draws; row++) {
            counts[drawn.token(row)]++;
        }
        return counts;
    }

    /** Within three standard deviations of a binomial distribution. */
    private static void assertShare(int count, int draws, double share) {
        assertThat((double) count).isCloseTo(draws * share, within(3 * Math.sqrt(draws * share * (1 - share))));
    }

    @Test
    void greedy_takes_the_lowest_id_of_equal_logits_negative_zero_included() {
        assertThat(draw(new float[] {-1, 3, 2, 3}, 0, Sampling.greedy()).token(0)).isEqualTo(1);
        assertThat(draw(new float[] {-1, -0f, 0f}, 0, Sampling.greedy()).token(0)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 4, 5, 6, 7, -1, Long.MIN_VALUE})
    void the_first_token_whose_cumulative_weight_exceeds_the_uniform_is_drawn(long seed) {
        double u = Philox.uniform(seed, 5);
        int expected = u < 0.4 ? 0 : u < 0.5 ? 1 : u < 0.9 ? 2 : 3;
        assertThat(draw(FOUR_ONE_FOUR_ONE, 5, new Sampling(seed, 1, 0, 1, false)).token(0)).isEqualTo(expected);
    }

    @Test
    void frequencies_follow_the_distribution() {
        int draws = draws(4000);
        int[] counts = histogram(FOUR_ONE_FOUR_ONE, draws, 1, 0, 1);
        assertShare(counts[0], draws, 0.4);
        assertShare(counts[1], draws, 0.1);
        assertShare(counts[2], draws, 0.4);
    }

    @Test
    void temperature_one_half_squares_the_odds() {
        int draws = draws(4000);
        // 16 : 1 : 16 : 1
        assertShare(histogram(FOUR_ONE_FOUR_ONE, draws, 0.5f, 0, 1)[1], draws, 1 / 34.0);
    }

    @Test
    void top_k_keeps_the_lower_id_of_equal_logits() {
        int[] counts = histogram(FOUR_ONE_FOUR_ONE, draws(1000), 1, 3, 1);
        assertThat(counts[1]).isPositive();
        assertThat(counts[3]).isZero();
        assertThat(histogram(FOUR_ONE_FOUR_ONE, 20, 1, 1, 1)).containsExactly(20, 0, 0, 0);
    }

    @Test
    void top_p_keeps_the_shortest_run_that_reaches_its_mass() {
        int draws = draws(1000);
        assertThat(histogram(FOUR_ONE_FOUR_ONE, 20, 1, 0, 0.35f)).containsExactly(20, 0, 0, 0);
        int[] counts = histogram(FOUR_ONE_FOUR_ONE, draws, 1, 0, 0.75f);
        assertThat(counts[1] + counts[3]).isZero();
        assertShare(counts[2], draws, 0.5);
        assertThat(histogram(FOUR_ONE_FOUR_ONE, draws, 1, 0, 0.85f)[3]).isZero();
    }

    @Test
    void top_p_is_of_what_top_k_left() {
        // of 4 : 4 : 1 (ids 0, 2, 1) the first two hold 0.89; of all four they would hold 0.8
        assertThat(histogram(FOUR_ONE_FOUR_ONE, draws(1000), 1, 3, 0.85f)[1]).isZero();
    }

    @Test
    void the_same_seed_and_counter_draw_the_same_token_and_others_do_not_always() {
        float[] flat = new float[1000];
        var sampling = new Sampling(7, 1, 0, 1, false);
        assertThat(draw(flat, 3, sampling).token(0)).isEqualTo(draw(flat, 3, sampling).token(0))
                .isEqualTo((int) (Philox.uniform(7, 3) * 1000));
        assertThat(draw(flat, 4, sampling).token(0)).isNotEqualTo(draw(flat, 3, sampling).token(0));
    }

    @Test
    void logprob_is_of_the_raw_distribution_and_only_where_asked() {
        var asked = draw(FOUR_ONE_FOUR_ONE, 0, new Sampling(1, 0.1f, 1, 0.5f, true));
        assertThat(asked.token(0)).isZero();
        assertThat(asked.logprob(0)).isCloseTo((float) Math.log(0.4), within(1e-6f));
        assertThat(draw(FOUR_ONE_FOUR_ONE, 0, Sampling.greedy()).logprob(0)).isNaN();
    }

    @Test
    void masked_tokens_are_never_drawn() {
        float[] masked = {Float.NEGATIVE_INFINITY, 1, Float.NEGATIVE_INFINITY, 1};
        int[] counts = histogram(masked, draws(200), 1, 0, 1);
        assertThat(counts[0] + counts[2]).isZero();
        counts = histogram(masked, draws(200), 1, 3, 0.99f);
        assertThat(counts[0] + counts[2]).isZero();
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY})
    void from_unusable_logits_nothing_is_drawn(float bad) {
        assertThat(draw(new float[] {1, 2}, 0, Sampling.greedy()).isUsable(0)).isTrue();
        for (float temperature : new float[] {0, 1}) {
            StepOutput output = draw(new float[] {1, bad, 3}, 0, new Sampling(1, temperature, 0, 1, true));
            assertThat(output.count()).isEqualTo(1);
            assertThat(output.isUsable(0)).isFalse();
            assertThat(output.logprob(0)).isNaN();
        }
        float nothing = Float.NEGATIVE_INFINITY;
        assertThat(draw(new float[] {nothing, nothing}, 0, Sampling.greedy()).isUsable(0)).isFalse();
    }
}
