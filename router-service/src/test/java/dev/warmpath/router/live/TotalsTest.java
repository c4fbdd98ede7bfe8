package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.router.decisions.Decision.Outcome;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TotalsTest {

    private long nanos = 5;
    private final Totals totals = new Totals(() -> nanos);

    private static Outcome answered(long firstTokenMillis, Integer cached, int completion) {
        return new Outcome("answered", TimeUnit.MILLISECONDS.toNanos(firstTokenMillis), 0, cached, completion);
    }

    private void pass(double seconds) {
        nanos += (long) (seconds * 1e9);
    }

    @Test
    void nothing_is_known_before_the_first_answer() {
        assertThat(totals.view(3, 10)).isEqualTo(new Totals.View(3, 0, 0, 0, 0, 0, null, 0, 0, null));
    }

    @Test
    void the_hit_rate_is_cached_tokens_by_prompt_tokens_of_those_whose_workers_told() {
        totals.ended(answered(10, 96, 5), 100);
        totals.ended(answered(10, 0, 5), 300);
        totals.ended(answered(10, null, 5), 1_000);

        assertThat(totals.view(0, 10)).satisfies(view -> {
            assertThat(view.hitRate()).isEqualTo(0.24);
            assertThat(view.promptTokens()).isEqualTo(400);
            assertThat(view.cachedTokens()).isEqualTo(96);
            assertThat(view.completionTokens()).isEqualTo(15);
        });
    }

    @Test
    void rates_are_of_ten_seconds_and_hit_rate_and_first_tokens_of_sixty() {
        pass(100);
        totals.ended(answered(40, 50, 20), 100);
        pass(9.5);
        assertThat(totals.view(0, 10)).satisfies(view -> {
            assertThat(view.tokensPerSecond()).isEqualTo(2);
            assertThat(view.promptTokensPerSecond()).isEqualTo(10);
        });
        pass(1);
        assertThat(totals.view(0, 10)).satisfies(view -> {
            assertThat(view.tokensPerSecond()).isZero();
            assertThat(view.hitRate()).isEqualTo(0.5);
            assertThat(view.firstTokenMs()).isEqualTo(new Totals.Quantiles(40, 40));
        });
        pass(50);
        assertThat(totals.view(0, 10)).satisfies(view -> {
            assertThat(view.hitRate()).isNull();
            assertThat(view.firstTokenMs()).isNull();
            assertThat(view.cachedTokens()).as("in all").isEqualTo(50);
        });
    }

    @Test
    void of_a_router_two_seconds_old_rates_are_of_two_seconds() {
        pass(2);
        totals.ended(answered(1, 0, 30), 100);
        assertThat(totals.view(0, 10).tokensPerSecond()).isCloseTo(15, within(1e-6));
    }

    @Test
    void of_a_hundred_first_tokens_the_median_is_the_fiftieth_and_p99_the_ninety_ninth() {
        for (int i = 100; i >= 1; i--) {
            totals.ended(answered(i, 0, 1), 10);
        }
        assertThat(totals.view(0, 10).firstTokenMs()).isEqualTo(new Totals.Quantiles(50, 99));
    }

    @Test
    void of_two_thousand_first_tokens_in_a_minute_the_last_1024_count() {
        for (int i = 1; i <= 2_000; i++) {
            totals.ended(answered(i, 0, 1), 10);
        }
        assertThat(totals.view(0, 10).firstTokenMs()).isEqualTo(new Totals.Quantiles(976 + 512, 976 + 1_014));
    }

    @Test
    void whoever_left_is_no_failure_and_a_lost_worker_is_one() {
        totals.decided();
        totals.decided();
        totals.ended(new Outcome("left", null, 1, null, null), 10);
        totals.ended(new Outcome("worker_lost", null, 1, null, null), 10);
        assertThat(totals.view(0, 10)).satisfies(view -> {
            assertThat(view.requests()).isEqualTo(2);
            assertThat(view.failed()).isEqualTo(1);
        });
    }
}
