package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StepCostTest {

    @Test
    void costs_are_told_in_tokens_of_prompts() {
        var card = StepCost.USUAL;

        assertThat(card.fixedTokens()).isCloseTo(114.3, within(0.1));
        assertThat(card.rowTokens(10, 10 * 12_000)).as("ten streams of 12,000 tokens").isCloseTo(41.9, within(0.1));
        assertThat(card.rowTokens(0, 0)).isZero();
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, Double.NaN, Double.POSITIVE_INFINITY, 1.1e9})
    void nothing_costs_less_than_nothing_or_more_than_a_quarter_of_an_hour(double wrong) {
        assertThatThrownBy(() -> new StepCost(wrong, 1, 1, 1))
                .hasMessage("stepMicros " + wrong + " is not from 0 to 1.0E9");
        assertThatThrownBy(() -> new StepCost(1, wrong, 1, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new StepCost(1, 1, wrong, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new StepCost(1, 1, 1, wrong)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void a_prompt_that_costs_nothing_is_no_measure() {
        assertThatThrownBy(() -> new StepCost(1, 0, 1, 1)).hasMessage("promptTokenMicros 0.0 is below 0.001");
    }
}
