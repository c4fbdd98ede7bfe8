package dev.warmpath.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import org.junit.jupiter.api.Test;

class ScaleTest {

    @Test
    void a_piece_has_a_whole_number_of_tokens_and_the_longest_turn_fits() {
        Scale scale = Scale.fitting(/* longestTokens */ 6_000, /* contextTokens */ 2_048, /* pieceTokens */ 16);

        assertThat(scale).isEqualTo(new Scale(5, 16));                      // 16 x 0.341, rounded down
        assertThat(scale.factor()).isEqualTo(0.3125);
    }

    @Test
    void what_fits_or_has_no_context_is_left_as_it_is() {
        assertThat(Scale.fitting(2_048, 2_048, 16).factor()).isEqualTo(1);
        assertThat(Scale.fitting(1_000_000, 0, 512).factor()).isEqualTo(1);
    }

    @Test
    void a_last_piece_that_is_cut_is_cut_in_proportion() {
        var turn = new Turn(new Prompt(new long[] {0, 7, 8}, 512, 1_030), 100);
        Scale scale = new Scale(8, 512);

        assertThat(scale.promptTokens(turn.prompt())).isEqualTo(8 + 8 + 1);   // 6 of 512 are at least one
        assertThat(scale.answerTokens(turn)).isEqualTo(1);
        assertThat(new Scale(512, 512).promptTokens(turn.prompt())).isEqualTo(1_030);
    }
}
