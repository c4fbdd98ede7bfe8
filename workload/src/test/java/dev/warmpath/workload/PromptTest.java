package dev.warmpath.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PromptTest {

    @Test
    void a_piece_is_its_number_in_digits_of_24_and_the_last_one_may_be_cut() {
        int[] tokens = new Prompt(new long[] {25, 600}, 16, 20).tokens();

        assertThat(tokens).hasSize(20).startsWith(1, 1, 0, 0).endsWith(0, 1, 1, 0).contains(1, Integer.valueOf(0));
        assertThat(Arrays.copyOfRange(tokens, 16, 20)).containsExactly(0, 1, 1, 0);     // 600 = 0 + 1 x 24 + 1 x 576
    }

    @Test
    void an_answers_piece_is_what_workers_draw() {
        assertThat(new Prompt(new long[] {Prompt.ANSWER}, 16, 16).tokens()).containsOnly(Prompt.ANSWER_TOKEN);
    }

    @Test
    void a_length_that_its_pieces_do_not_have_is_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Prompt(new long[] {1, 2}, 16, 33))
                .withMessage("33 tokens in 2 pieces of 16");
        assertThatIllegalArgumentException().isThrownBy(() -> new Prompt(new long[] {1, 2}, 16, 16));
    }
}
