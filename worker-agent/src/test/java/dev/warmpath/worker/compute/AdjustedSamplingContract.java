package dev.warmpath.worker.compute;

import static dev.warmpath.worker.compute.LogitAdjustments.ALLOWED;
import static dev.warmpath.worker.compute.LogitAdjustments.BAN;
import static dev.warmpath.worker.compute.LogitAdjustments.NO_ID;
import static dev.warmpath.worker.compute.LogitAdjustments.ONCE;
import static dev.warmpath.worker.compute.LogitAdjustments.PROMPT;
import static dev.warmpath.worker.compute.LogitAdjustments.banAfter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Step 0 of the rule of {@link Sampling}, with distributions small enough to check by hand. */
public abstract class AdjustedSamplingContract extends DrawingContract {

    private static final float OFF = Float.NEGATIVE_INFINITY;
    private static final int NOTHING = Integer.MIN_VALUE;

    /** @param source token that the step before drew, or {@link #NOTHING}: none is to be counted */
    private record Row(int mode, float repetition, float frequency, float presence, float cut, int source,
                       List<int[]> entries, List<Float> biases) {

        static Row adjusted() {
            return new Row(LogitAdjustments.ADJUSTED, 1, 0, 0, OFF, NOTHING, new ArrayList<>(), new ArrayList<>());
        }

        static Row plain() {
            return new Row(LogitAdjustments.PLAIN, 1, 0, 0, OFF, NOTHING, new ArrayList<>(), new ArrayList<>());
        }

        Row with(int id, float bias, int note) {
            entries.add(new int[] {id, note});
            biases.add(bias);
            return this;
        }

        Row penalties(float repetitionPenalty, float frequencyPenalty, float presencePenalty) {
            return new Row(mode, repetitionPenalty, frequencyPenalty, presencePenalty, cut, source, entries, biases);
        }

        Row allowedOnly() {
            return new Row(LogitAdjustments.ALLOWED_ONLY, repetition, frequency, presence, cut, source, entries, biases);
        }

        Row after(int token) {
            return new Row(mode, repetition, frequency, presence, cut, token, entries, biases).with(NO_ID, 0, 0);
        }

        Row minP(double share, double temperature) {
            return new Row(mode, repetition, frequency, presence, (float) (temperature * Math.log(share)), source,
                    entries, biases);
        }
    }

    private StepOutput draw(float[] logits, Sampling sampling, Row... rows) {
        int count = rows.length;
        int[] ints = new int[count];
        float[] all = new float[count * logits.length];
        long[] seeds = new long[count];
        int[] counters = ints.clone();
        float[] temperatures = new float[count];
        int[] topKs = ints.clone();
        float[] topPs = temperatures.clone();
        int[] logprobs = ints.clone();
        int[] modes = ints.clone();
        int[] starts = new int[count + 1];
        int[] sources = ints.clone();
        int[] before = ints.clone();
        float[] repetitions = temperatures.clone();
        float[] frequencies = temperatures.clone();
        float[] presences = temperatures.clone();
        float[] cuts = temperatures.clone();
        var entries = new ArrayList<int[]>();
        var biases = new ArrayList<Float>();
        for (int row = 0; row < count; row++) {
            System.arraycopy(logits, 0, all, row * logits.length, logits.length);
            seeds[row] = sampling.seed();
            counters[row] = row;
            temperatures[row] = sampling.temperature();
            topKs[row] = sampling.topK();
            topPs[row] = sampling.topP();
            logprobs[row] = sampling.logprob() ? 1 : 0;
            modes[row] = rows[row].mode;
            // sources go backwards through the rows before, so that they are not their own
            sources[row] = rows[row].source == NOTHING ? -1 : count - 1 - row;
            before[count - 1 - row] = rows[row].source;
            repetitions[row] = rows[row].repetition;
            frequencies[row] = rows[row].frequency;
            presences[row] = rows[row].presence;
            cuts[row] = rows[row].cut;
            entries.addAll(rows[row].entries);
            biases.addAll(rows[row].biases);
            starts[row + 1] = entries.size();
        }
        int size = entries.size() + 1;
        int[] ids = new int[size];
        int[] notes = new int[size];
        float[] added = new float[size];
        for (int i = 0; i < entries.size(); i++) {
            ids[i] = entries.get(i)[0];
            notes[i] = entries.get(i)[1];
            added[i] = biases.get(i);
        }
        var inputs = new SamplingInputs(data.longs(seeds), data.ints(counters), data.floats(count, 1, temperatures),
                data.ints(topKs), data.floats(count, 1, topPs), data.ints(logprobs));
        var adjustments = new LogitAdjustments(data.ints(modes), data.ints(starts), data.ints(sources),
                data.floats(count, 1, repetitions), data.floats(count, 1, frequencies),
                data.floats(count, 1, presences), data.floats(count, 1, cuts), data.ints(ids),
                data.floats(size, 1, added), data.ints(notes), data.floats(size, 1, new float[size]));
        var drawnBefore = new SampledTokens(data.ints(before), data.floats(count, 1, new float[count]));
        var sampled = new SampledTokens(data.ints(new int[count]), data.floats(count, 1, new float[count]));
        data.backend().sampleAdjusted(data.floats(count, logits.length, all), inputs, adjustments, drawnBefore, sampled,
                count);
        var output = new StepOutput(count);
        data.backend().await(data.backend().submit(sampled, count), output);
        return output;
    }

    private int greedy(float[] logits, Row row) {
        return draw(logits, Sampling.greedy(), row).token(0);
    }

    /** Chi-square of draws against the shares, of which 0 means never. */
    private void assertShares(Row row, float[] logits, Sampling sampling, double... shares) {
        int draws = draws(2000);
        Row[] rows = new Row[draws];
        Arrays.fill(rows, row);
        StepOutput output = draw(logits, sampling, rows);
        int[] counts = new int[logits.length];
        for (int i = 0; i < draws; i++) {
            counts[output.token(i)]++;
        }
        double chiSquare = 0;
        for (int id = 0; id < shares.length; id++) {
            if (shares[id] == 0) {
                assertThat(counts[id]).as("draws of %d", id).isZero();
            } else {
                double expected = draws * shares[id];
                chiSquare += (counts[id] - expected) * (counts[id] - expected) / expected;
            }
        }
        assertThat(chiSquare).as("99.9 %% of chi-square with three degrees of freedom").isLessThan(16.27);
    }

    private static Sampling drawn() {
        return new Sampling(42, 1, 0, 1, false);
    }

    @Test
    void a_plain_row_among_adjusted_ones_is_drawn_from_as_it_is() {
        StepOutput output = draw(FOUR_ONE_FOUR_ONE, Sampling.greedy(), Row.adjusted().with(0, -1, 0), Row.plain(),
                Row.adjusted().with(0, 0, BAN).with(2, 0, BAN));
        assertThat(output.token(0)).isEqualTo(2);
        assertThat(output.token(1)).isEqualTo(0);
        assertThat(output.token(2)).isEqualTo(1);
    }

    @Test
    void a_bias_moves_the_odds_by_its_power_of_e() {
        // 4 : 1 · 6 : 4 : 1
        assertShares(Row.adjusted().with(1, (float) Math.log(6), 0), FOUR_ONE_FOUR_ONE, drawn(), 4 / 15., 6 / 15.,
                4 / 15., 1 / 15.);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, Row.adjusted().with(3, 100, 0))).isEqualTo(3);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, Row.adjusted().with(0, -100, 0))).isEqualTo(2);
    }

    @Test
    void frequency_counts_each_time_and_presence_once_and_neither_counts_the_prompt() {
        // id 0 twice in the answer: minus 2 · ln 2, minus ln 2: an eighth; id 2 in the prompt only
        Row row = Row.adjusted().with(0, 0, 2 * ONCE).with(2, 0, PROMPT)
                .penalties(1, (float) Math.log(2), (float) Math.log(2));
        assertShares(row, FOUR_ONE_FOUR_ONE, drawn(), 0.5 / 6.5, 1 / 6.5, 4 / 6.5, 1 / 6.5);
    }

    @Test
    void repetition_divides_positive_logits_and_multiplies_the_others_of_prompt_and_answer() {
        float[] logits = {2, 1.5f, -1, -1.5f};
        assertThat(greedy(logits, Row.adjusted().with(0, 0, PROMPT).penalties(2, 0, 0))).isEqualTo(1);
        assertThat(greedy(logits, Row.adjusted().with(0, 0, PROMPT).with(1, 0, ONCE).penalties(2, 0, 0))).isEqualTo(0);
        // 1, 0.75, -2, -1.5
        Row row = Row.adjusted().with(0, 0, ONCE).with(1, 0, PROMPT + ONCE).with(2, 0, PROMPT).penalties(2, 0, 0);
        double sum = Math.exp(1) + Math.exp(0.75) + Math.exp(-2) + Math.exp(-1.5);
        assertShares(row, logits, drawn(), Math.exp(1) / sum, Math.exp(0.75) / sum, Math.exp(-2) / sum,
                Math.exp(-1.5) / sum);
    }

    @Test
    void finite_logits_stay_finite_under_any_penalty() {
        // both quotients are above float32: equal at its largest, so the lower id wins
        float[] logits = {1, 4, -4, 8};
        Row row = Row.adjusted().with(1, 0, PROMPT).with(3, 0, ONCE).penalties(1e-38f, 0, 0);
        assertThat(greedy(logits, row)).isEqualTo(1);
        assertThat(draw(logits, drawn(), row).token(0)).isIn(1, 3);
        assertThat(greedy(new float[] {1, Float.POSITIVE_INFINITY}, Row.adjusted().with(1, 0, ONCE).penalties(2, 0, 0)))
                .as("what is unusable stays so").isNegative();
    }

    @Test
    void a_bias_comes_before_the_repetition_penalty_and_that_before_the_others() {
        // (1 + 3) / 2 - 0.5 · 1 - 0.25 = 1.25
        Row row = Row.adjusted().with(0, 3, ONCE).penalties(2, 0.5f, 0.25f);
        assertThat(greedy(new float[] {1, 1.24f}, row)).isEqualTo(0);
        assertThat(greedy(new float[] {1, 1.26f}, row)).isEqualTo(1);
    }

    @Test
    void a_token_of_the_step_before_is_counted_whether_it_has_an_entry_or_not() {
        float[] logits = {3, 2.5f, 2, 1};
        Row row = Row.adjusted().with(1, 0, ONCE).penalties(1, 1, 0);
        assertThat(greedy(logits, row)).isEqualTo(0);
        assertThat(greedy(logits, Row.adjusted().with(1, 0, ONCE).penalties(1, 1, 0).after(0)))
                .as("2, 1.5, 2, 1").isEqualTo(0);
        assertThat(greedy(logits, Row.adjusted().with(1, 0, ONCE).penalties(1, 1.5f, 0).after(0)))
                .as("1.5, 1, 2, 1").isEqualTo(2);
        assertThat(greedy(logits, Row.adjusted().with(0, 0, ONCE).penalties(1, 1, 0).after(0)))
                .as("1, 2.5, 2, 1").isEqualTo(1);
        assertThat(greedy(logits, Row.adjusted().with(0, 0, 0).penalties(4, 0, 0).after(0)))
                .as("0.75, 2.5, 2, 1").isEqualTo(1);
        assertThat(greedy(logits, Row.adjusted().penalties(4, 0, 0).after(SampledTokens.NO_TOKEN)))
                .as("nothing was drawn").isEqualTo(0);
    }

    @Test
    void a_ban_holds_always_or_after_the_token_that_it_names() {
        assertShares(Row.adjusted().with(0, 0, BAN), FOUR_ONE_FOUR_ONE, drawn(), 0, 1 / 6., 4 / 6., 1 / 6.);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, Row.adjusted().with(0, 0, banAfter(3)).after(3))).isEqualTo(2);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, Row.adjusted().with(0, 0, banAfter(3)).after(2))).isEqualTo(0);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, Row.adjusted().with(0, 100, 0).with(0, 0, BAN))).isEqualTo(2);
    }

    @Test
    void of_allowed_tokens_only_those_are_drawn_biased_and_penalized_as_others_are() {
        assertShares(Row.adjusted().allowedOnly().with(1, 0, ALLOWED).with(2, 0, ALLOWED).with(3, 50, 0),
                FOUR_ONE_FOUR_ONE, drawn(), 0, 0.2, 0.8, 0);
        Row row = Row.adjusted().allowedOnly().with(1, 1, ALLOWED).with(2, 0, ALLOWED + ONCE).penalties(1, 0.5f, 0);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, row)).as("1 to 0.886").isEqualTo(1);
        Row fed = Row.adjusted().allowedOnly().with(1, 0, ALLOWED).penalties(2, 0, 0);
        assertThat(greedy(FOUR_ONE_FOUR_ONE, fed.after(0))).as("0 is not allowed, though it was drawn").isEqualTo(1);
    }

    @Test
    void min_p_masks_what_is_less_likely_than_its_share_of_the_likeliest_after_the_temperature() {
        assertShares(Row.adjusted().minP(0.26, 1), FOUR_ONE_FOUR_ONE, drawn(), 0.5, 0, 0.5, 0);
        assertShares(Row.adjusted().minP(0.24, 1), FOUR_ONE_FOUR_ONE, drawn(), 0.4, 0.1, 0.4, 0.1);
        // at temperature 2 the odds are 2 : 1
        var hot = new Sampling(7, 2, 0, 1, false);
        assertShares(Row.adjusted().minP(0.49, 2), FOUR_ONE_FOUR_ONE, hot, 2 / 6., 1 / 6., 2 / 6., 1 / 6.);
        assertShares(Row.adjusted().minP(0.51, 2), FOUR_ONE_FOUR_ONE, hot, 0.5, 0, 0.5, 0);
    }

    @Test
    void top_p_is_of_what_min_p_left() {
        float[] logits = {(float) Math.log(5), (float) Math.log(3), 0, 0};
        // of 5 : 3 the first has 0.625; of 5 : 3 : 1 : 1 it has 0.5
        assertShares(Row.adjusted().minP(0.3, 1), logits, new Sampling(3, 1, 0, 0.6f, false), 1, 0, 0, 0);
        assertShares(Row.adjusted(), logits, new Sampling(3, 1, 0, 0.6f, false), 0.625, 0.375, 0, 0);
    }

    @Test
    void a_logprob_is_of_the_raw_logits_whatever_was_done_to_them() {
        var greedy = new Sampling(1, 0, 0, 1, true);
        StepOutput output = draw(FOUR_ONE_FOUR_ONE, greedy, Row.adjusted().with(1, 50, 0), Row.plain(),
                Row.adjusted().with(0, 0, BAN), Row.adjusted().allowedOnly().with(3, 0, ALLOWED),
                Row.adjusted().penalties(1, -5, 0).after(1), Row.adjusted().minP(0.9, 1));
        double[] expected = {0.1, 0.4, 0.4, 0.1, 0.1, 0.4};
        int[] tokens = {1, 0, 2, 3, 1, 0};
        for (int row = 0; row < tokens.length; row++) {
            assertThat(output.token(row)).as("row %d", row).isEqualTo(tokens[row]);
            assertThat(output.logprob(row)).as("row %d", row).isCloseTo((float) Math.log(expected[row]), within(1e-6f));
        }
    }

    @Test
    void a_row_of_which_everything_is_masked_says_so_and_an_unusable_one_stays_unusable() {
        StepOutput output = draw(FOUR_ONE_FOUR_ONE, new Sampling(1, 1, 0, 1, true),
                Row.adjusted().allowedOnly().with(1, 0, ALLOWED).with(1, 0, BAN), Row.adjusted());
        assertThat(output.isMasked(0)).isTrue();
        assertThat(output.isUsable(0)).as("the model is not to blame").isTrue();
        assertThat(output.logprob(0)).isNaN();
        assertThat(output.isMasked(1)).isFalse();
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY}) {
            StepOutput unusable = draw(new float[] {1, bad, 3}, Sampling.greedy(),
                    Row.adjusted().allowedOnly().with(0, 0, ALLOWED), Row.adjusted().with(1, 0, BAN),
                    Row.adjusted().minP(0.5, 1), Row.adjusted().with(1, 0, PROMPT).penalties(2, 0, 0));
            for (int row = 0; row < 4; row++) {
                assertThat(unusable.isUsable(row)).as("row %d with %s", row, bad).isFalse();
            }
        }
    }
}
