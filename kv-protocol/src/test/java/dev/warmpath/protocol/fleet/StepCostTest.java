package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

class StepCostTest {

    @Test
    void costs_are_told_in_tokens_of_prompts() {
        var card = StepCost.USUAL;

        assertThat(card.fixedTokens()).isCloseTo(114.3, within(0.1));
        assertThat(card.rowTokens(10, 10 * 12_000)).as("ten streams of 12,000 tokens").isCloseTo(41.9, within(0.1));
        assertThat(card.rowTokens(0, 0)).isZero();
        assertThat(card.isUsable()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, Double.NaN, Double.POSITIVE_INFINITY, 1.1e9})
    void what_no_step_can_take_is_not_usable(double wrong) {
        assertThat(new StepCost(wrong, 1, 1, 1).isUsable()).isFalse();
        assertThat(new StepCost(1, wrong, 1, 1).isUsable()).isFalse();
        assertThat(new StepCost(1, 1, wrong, 1).isUsable()).isFalse();
        assertThat(new StepCost(1, 1, 1, wrong).isUsable()).isFalse();
        assertThat(new StepCost(1, 0, 1, 1).isUsable()).as("no measure for the others").isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{\"stepMicros\":400,\"another\":[]}", "{\"promptTokenMicros\":-1,\"rowMicros\":null}"})
    void a_part_that_is_missing_or_wrong_or_new_is_no_reason_to_refuse_the_whole(String text) {
        assertThat(JsonMapper.builder().build().readValue(text, StepCost.class).isUsable()).isFalse();
    }
}
