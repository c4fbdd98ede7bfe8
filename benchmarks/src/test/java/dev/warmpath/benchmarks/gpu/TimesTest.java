package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TimesTest {

    @Test
    void the_median_has_half_of_all_at_or_below_it_and_the_p90_nine_in_ten() {
        assertThat(Times.of(new long[] {50, 10, 40, 20, 30})).isEqualTo(new Times(5, 10, 30, 50));
        assertThat(Times.of(new long[] {10, 9, 8, 7, 6, 5, 4, 3, 2, 1})).isEqualTo(new Times(10, 1, 5, 9));
        assertThat(Times.of(new long[] {7})).isEqualTo(new Times(1, 7, 7, 7));
    }

    @Test
    void a_gigabyte_in_a_quarter_of_a_millisecond_is_four_terabytes_a_second() {
        assertThat(Times.of(new long[] {250_000}).perSecond(1e9)).isEqualTo(4e12);
    }
}
