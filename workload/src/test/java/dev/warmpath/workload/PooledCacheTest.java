package dev.warmpath.workload;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Pieces of 16 tokens. */
class PooledCacheTest {

    private final PooledCache cache = new PooledCache(/* capacity */ 4);

    @Test
    void a_prompt_again_is_held_but_for_its_last_token_and_so_its_last_piece() {
        assertThat(cache.use(turn(1, 2, 3))).isZero();
        assertThat(cache.use(turn(1, 2, 3))).isEqualTo(32);
        assertThat(cache.use(turn(1, 2, 3, 4))).isEqualTo(48);
    }

    @Test
    void the_same_piece_behind_another_one_is_another_one() {
        cache.use(turn(1, 2, 3));

        assertThat(cache.use(turn(9, 2, 3))).isZero();
    }

    @Test
    void what_was_used_longest_ago_gives_way_of_a_prompt_its_end_first() {
        cache.use(turn(1, 2, 3));
        cache.use(turn(5, 6));                                     // five pieces for four places: the third of the first

        assertThat(cache.size()).isEqualTo(4);
        assertThat(cache.use(turn(1, 2, 3, 4))).isEqualTo(32);
    }

    @Test
    void an_answer_of_33_tokens_leaves_two_pieces_for_the_next_turn() {
        cache.use(new Turn(new Prompt(new long[] {1}, 16, 16), 33));

        assertThat(cache.use(turn(1, Prompt.ANSWER, Prompt.ANSWER, 7))).isEqualTo(48);
    }

    private static Turn turn(long... pieces) {
        return new Turn(new Prompt(pieces, 16, pieces.length * 16), 1);
    }
}
