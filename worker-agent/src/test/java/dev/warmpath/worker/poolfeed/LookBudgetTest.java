package dev.warmpath.worker.poolfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LookBudgetTest {

    private static final long MICRO = 1_000;
    private long nowNanos = -5_000_000_000L;
    private final LookBudget budget = new LookBudget(() -> nowNanos);

    @Test
    void short_looks_are_twenty_at_once_and_then_twenty_a_second() {
        assertThat(looks(100, 10 * MICRO)).isEqualTo(20);
        pass(49);
        assertThat(looks(100, 10 * MICRO)).as("one more in the next 50 ms").isEqualTo(1);
        int looks = 0;
        for (int i = 0; i < 1_000; i++) {
            pass(10);
            looks += looks(1, 10 * MICRO);
        }
        assertThat(looks).isBetween(199, 201);
    }

    @Test
    void long_looks_take_a_thousandth_of_the_time() {
        int looks = 0;
        for (int i = 0; i < 10_000; i++) {
            pass(10);
            looks += looks(1, 5_000 * MICRO);
        }
        assertThat(looks).as("in 100 s, at 5 s each").isBetween(20, 22);
    }

    @Test
    void a_single_long_look_holds_nobody_up() {
        assertThat(looks(1, 10 * MICRO)).isOne();
        assertThat(looks(1, 500_000 * MICRO)).isOne();
        assertThat(looks(100, 10 * MICRO)).isEqualTo(18);
    }

    /** Asked for at once, before any has been taken: the debt is paid before the next. */
    @Test
    void what_was_asked_for_before_it_was_known_to_be_long_is_paid_for_afterwards() {
        long[] paid = new long[20];
        for (int i = 0; i < paid.length; i++) {
            paid[i] = budget.take();
            assertThat(paid[i]).isPositive();
        }
        for (long each : paid) {
            budget.took(1_000 * MICRO, each);
        }
        pass(17_000);
        assertThat(budget.take()).as("19 of 1 ms, 19 s").isZero();
        pass(2_000);
        assertThat(budget.take()).isPositive();
    }

    /** @return how many of so many, one after the other, are let through, each of which takes so long */
    private int looks(int tries, long nanos) {
        int looks = 0;
        for (int i = 0; i < tries; i++) {
            long paid = budget.take();
            if (paid > 0) {
                budget.took(nanos, paid);
                looks++;
            }
        }
        return looks;
    }

    private void pass(long millis) {
        nowNanos += TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
