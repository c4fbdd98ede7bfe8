package dev.warmpath.cli.start;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The arithmetic of docs/operations.md, What a router's heap holds. */
class RouterHeapTest {

    @Test
    void two_workers_on_processors_are_held_by_half_a_gigabyte() {
        assertThat(RouterHeap.megabytes(2, "vector", null, null)).isEqualTo(512);
    }

    @Test
    void streams_of_eight_cards_want_more() {
        // 8 x 256 sequences x 4 = 8,192 streams of 100 KiB are 800 MB; 32 idle, half as much again, 96 of caches
        assertThat(RouterHeap.megabytes(8, "cuda", null, null)).isEqualTo((832 * 3 / 2 + 96) * 2);
    }

    @Test
    void what_was_set_counts_and_what_is_no_number_does_not() {
        assertThat(RouterHeap.megabytes(1, "vector", null, "3000")).isEqualTo(1166);
        assertThat(RouterHeap.megabytes(1, "vector", "many", "0x20")).isEqualTo(512);
        // 4 x 2 x 512 = 4,096 streams are 400 MB
        assertThat(RouterHeap.megabytes(2, "vector", "512", "")).isEqualTo((432 * 3 / 2 + 96) * 2);
    }
}
