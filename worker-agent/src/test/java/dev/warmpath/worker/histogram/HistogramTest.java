package dev.warmpath.worker.histogram;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HistogramTest {

    private final Histogram histogram = new Histogram(10, 20, 50);

    @Test
    void a_bound_belongs_to_the_bucket_below_it_and_the_last_bucket_has_none() {
        for (long value : new long[] {10, 11, 20, 20, 50, 51, 1_000_000, 0, -3}) {
            histogram.record(value);
        }

        Distribution now = histogram.distribution();
        assertThat(now.counts(10, 20, 50)).containsExactly(3, 3, 1, 2);
        assertThat(now.count()).isEqualTo(9);
        assertThat(now.sum()).isEqualTo(1_000_159);
    }

    @Test
    void fewer_bounds_take_what_lay_between_the_ones_left_out() {
        for (int value = 1; value <= 60; value++) {
            histogram.record(value);
        }

        assertThat(histogram.distribution().counts(20)).containsExactly(20, 40);
        assertThat(histogram.distribution().counts()).containsExactly(60);
        assertThatIllegalArgumentException().isThrownBy(() -> histogram.distribution().counts(10, 30))
                .withMessage("30 is no bound, or stands behind a higher one");
        assertThatIllegalArgumentException().isThrownBy(() -> histogram.distribution().counts(20, 10));
    }

    @Test
    void a_copy_does_not_change_any_more() {
        histogram.record(5);
        Distribution before = histogram.distribution();
        histogram.record(5);

        assertThat(before.count()).isEqualTo(1);
        assertThat(histogram.distribution().count()).isEqualTo(2);
    }

    @Test
    void values_in_any_order_come_into_the_buckets_that_a_plain_count_puts_them_into() {
        long[] values = new SplittableRandom(42).longs(10_000, 0, 80).toArray();
        for (long value : values) {
            histogram.record(value);
        }

        assertThat(histogram.distribution().counts(10, 20, 50)).containsExactly(
                Arrays.stream(values).filter(v -> v <= 10).count(),
                Arrays.stream(values).filter(v -> v > 10 && v <= 20).count(),
                Arrays.stream(values).filter(v -> v > 20 && v <= 50).count(),
                Arrays.stream(values).filter(v -> v > 50).count());
    }

    @Test
    void bounds_ascend() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Histogram(1, 2, 2))
                .withMessage("bound 2 does not lie above 2");
    }
}
