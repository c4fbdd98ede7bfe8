package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RetryBudgetTest {

    private final RetryBudget budget = new RetryBudget(0.2, 30);
    private long now = Duration.ofDays(-3).toNanos();

    @Test
    void thirty_tries_in_ten_seconds_are_there_without_any_requests() {
        assertThat(take(100)).isEqualTo(30);
        now += Duration.ofSeconds(9).toNanos();
        assertThat(take(100)).isZero();
        now += Duration.ofSeconds(1).toNanos();
        assertThat(take(100)).isEqualTo(30);
    }

    /** A thousand requests a second for a minute, each of which fails three times. */
    @Test
    void workers_see_at_most_a_fifth_more_than_was_offered() {
        int tries = 0;
        for (int millis = 0; millis < 60_000; millis++) {
            now += Duration.ofMillis(1).toNanos();
            budget.request(now);
            tries += 1 + take(3);
        }
        assertThat(tries).isBetween(71_500, 72_030);
    }

    @Test
    void what_a_burst_had_left_is_gone_ten_seconds_later() {
        for (int i = 0; i < 1_000; i++) {
            budget.request(now);
        }
        now += Duration.ofSeconds(10).toNanos();
        assertThat(take(1_000)).isEqualTo(30);
    }

    @Test
    void what_is_left_is_a_fifth_of_the_requests_and_thirty_at_least_less_what_was_taken() {
        assertThat(budget.left(now)).isEqualTo(30);
        for (int i = 0; i < 200; i++) {
            budget.request(now);
        }
        take(7);
        assertThat(budget.left(now)).isEqualTo(33);
        take(100);
        assertThat(budget.left(now)).isZero();
        now += Duration.ofSeconds(10).toNanos();
        assertThat(budget.left(now)).isEqualTo(30);
    }

    @Test
    void years_of_silence_are_passed_over_at_once() {
        budget.request(now);
        now += Duration.ofDays(10_000).toNanos();
        assertThat(take(31)).isEqualTo(30);
    }

    private int take(int times) {
        int taken = 0;
        for (int i = 0; i < times; i++) {
            taken += budget.take(now) ? 1 : 0;
        }
        return taken;
    }
}
