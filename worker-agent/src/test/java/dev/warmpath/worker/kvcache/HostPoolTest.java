package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class HostPoolTest {

    private final HostPool pool = new HostPool(4);
    private final BlockTable table = new BlockTable(4);

    @Test
    void the_lowest_blocks_are_taken_first_and_the_last_given_back_next() {
        assertThat(pool.allocate(3, table)).isTrue();
        assertThat(table.toArray()).containsExactly(0, 1, 2);
        assertThat(pool.freeCount()).isEqualTo(1);

        pool.release(table);

        assertThat(table.blockCount()).isZero();
        assertThat(pool.freeCount()).isEqualTo(4);
        assertThat(pool.allocate(4, table)).isTrue();
        assertThat(table.toArray()).containsExactly(0, 1, 2, 3);
    }

    @Test
    void too_few_free_blocks_are_a_no_that_changes_nothing() {
        assertThat(pool.allocate(5, table)).isFalse();

        assertThat(table.blockCount()).isZero();
        assertThat(pool.freeCount()).isEqualTo(4);
        assertThat(new HostPool(0).allocate(1, table)).as("no swap space at all").isFalse();
    }

    @Test
    void giving_back_what_is_not_taken_is_an_error_and_changes_nothing() {
        pool.allocate(2, table);
        var forged = new BlockTable(4);
        forged.add(1);
        forged.add(2);

        assertThatIllegalStateException().isThrownBy(() -> pool.release(forged))
                .withMessage("host block 2 of [1, 2] is not taken");

        assertThat(pool.freeCount()).isEqualTo(2);
    }
}
