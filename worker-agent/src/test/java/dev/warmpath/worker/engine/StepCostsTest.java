package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.fleet.StepCost;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class StepCostsTest {

    private static final StepCost CARD = new StepCost(12_000, 105, 20, 35);
    private static final StepCost PROCESSOR = new StepCost(300, 70, 150, 40);

    private final RandomGenerator random = new SplittableRandom(1);
    private final StepCosts costs = new StepCosts();

    @Test
    void costs_of_a_card_are_found_in_2_000_steps_of_which_each_is_up_to_a_tenth_off() {
        mixedSteps(CARD, 2_000);

        assertCost(CARD, 0.1);
    }

    @Test
    void costs_of_a_processor_are_found_likewise() {
        mixedSteps(PROCESSOR, 2_000);

        assertCost(PROCESSOR, 0.1);
    }

    @Test
    void one_step_in_fifty_that_takes_ten_times_as_long_changes_nothing_by_more_than_an_eighth() {
        for (int i = 0; i < 2_000; i++) {
            step(CARD, random.nextInt(4) == 0 ? 1 + random.nextInt(4_000) : 0, 1 + random.nextInt(64),
                    500 + random.nextInt(8_000), i % 50 == 49 ? 10 : 1);
        }

        assertCost(CARD, 0.125);
    }

    @Test
    void a_worker_that_becomes_half_as_fast_is_known_as_such_after_5_000_steps() {
        mixedSteps(CARD, 2_000);
        StepCost slower = new StepCost(24_000, 210, 40, 70);
        mixedSteps(slower, 5_000);

        assertCost(slower, 0.1);
    }

    @Test
    void what_traffic_stops_to_tell_of_stays_what_it_was() {
        mixedSteps(CARD, 2_000);
        for (int i = 0; i < 50_000; i++) {
            step(CARD, 0, 8, 1_000, 1);
        }

        StepCost now = costs.cost();
        assertThat(now).isNotNull();
        assertThat(now.promptTokenMicros()).as("50,000 steps without a prompt").isCloseTo(105, within(10.0));
        double told = now.stepMicros() + 8 * now.rowMicros() + 8_000 * now.contextTokenNanos() / 1e3;
        assertThat(told).as("a step as they all are").isCloseTo(12_000 + 160 + 280, within(120.0));
    }

    @Test
    void a_part_that_costs_nothing_is_not_taken_for_less_than_nothing() {
        StepCost free = new StepCost(0, 100, 0, 0);
        mixedSteps(free, 2_000);

        StepCost found = costs.cost();
        assertThat(found).isNotNull();
        assertThat(found.promptTokenMicros()).isCloseTo(100, within(5.0));
        assertThat(found.stepMicros()).isBetween(0.0, 1.0);
        assertThat(found.rowMicros()).isBetween(0.0, 1.0);
        assertThat(found.contextTokenNanos()).isBetween(0.0, 1.0);
    }

    @Test
    void one_step_in_fifty_whose_time_was_hidden_behind_other_work_changes_nothing_by_more_than_an_eighth() {
        for (int i = 0; i < 2_000; i++) {
            step(CARD, random.nextInt(4) == 0 ? 1 + random.nextInt(4_000) : 0, 1 + random.nextInt(64),
                    500 + random.nextInt(8_000), i % 50 == 49 ? 0.002 : 1);
        }

        assertCost(CARD, 0.125);
    }

    @Test
    void batches_of_four_steps_are_told_once_with_all_that_is_in_them() {
        for (int i = 0; i < 2_000; i++) {
            int rows = 1 + random.nextInt(8);
            int context = 500 + random.nextInt(8_000);
            if (i % 4 == 0) {
                step(PROCESSOR, 1 + random.nextInt(500), rows, context, 1);
            } else {
                costs.add(4, 0, 4 * rows, 4L * rows * context, Math.round(4_000 * (PROCESSOR.stepMicros()
                        + PROCESSOR.rowsMicros(rows, (long) rows * context))));
            }
        }

        assertCost(PROCESSOR, 0.02);
    }

    @Test
    void nothing_is_told_before_32_steps_with_prompts_and_with_rows() {
        for (int i = 0; i < 96; i++) {
            step(CARD, 0, 1, 100, 1);
        }
        assertThat(costs.cost()).as("no prompt yet").isNull();
        for (int i = 0; i < 32; i++) {
            step(CARD, 100, 1, 100, 1);
        }
        assertThat(costs.cost()).isNotNull();

        var others = new StepCosts();
        for (int i = 0; i < 31; i++) {
            others.add(1, 100, 1, 100, 1_000_000);
        }
        assertThat(others.cost()).as("31 steps").isNull();
        others.add(1, 0, 0, 0, 1_000_000);
        others.add(1, 100, 1, 100, 0);
        assertThat(others.cost()).as("an empty one, and one that took no time").isNull();
    }

    private void mixedSteps(StepCost truth, int count) {
        for (int i = 0; i < count; i++) {
            int promptTokens = random.nextInt(3) == 0 ? 1 + random.nextInt(4_000) : 0;
            int rows = promptTokens > 0 ? random.nextInt(65) : 1 + random.nextInt(64);
            step(truth, promptTokens, rows, 500 + random.nextInt(8_000), 0.9 + 0.2 * random.nextDouble());
        }
    }

    private void step(StepCost truth, int promptTokens, int rows, int contextOfEach, double factor) {
        long context = (long) rows * contextOfEach;
        double micros = truth.stepMicros() + truth.promptTokenMicros() * promptTokens + truth.rowMicros() * rows
                + truth.contextTokenNanos() / 1e3 * context;
        costs.add(1, promptTokens, rows, context, Math.round(micros * factor * 1e3));
    }

    private void assertCost(StepCost truth, double share) {
        StepCost found = costs.cost();
        assertThat(found).isNotNull();
        assertThat(found.stepMicros()).isCloseTo(truth.stepMicros(), within(share * truth.stepMicros()));
        assertThat(found.promptTokenMicros()).isCloseTo(truth.promptTokenMicros(),
                within(share * truth.promptTokenMicros()));
        assertThat(found.contextTokenNanos()).isCloseTo(truth.contextTokenNanos(),
                within(share * truth.contextTokenNanos()));
        // a row alone is little beside its context; what counts is both
        assertThat(found.rowTokens(10, 40_000)).isCloseTo(truth.rowTokens(10, 40_000),
                within(share * truth.rowTokens(10, 40_000)));
    }
}
