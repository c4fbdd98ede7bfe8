package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TotalsTest {

    private long nanos = 5;
    private final Totals totals = new Totals(() -> nanos);

    private void pass(double seconds) {
        nanos += (long) (seconds * 1e9);
    }

    private Totals.Counted firstToken(int promptLength, long millis) {
        Totals.Counted counted = totals.begun();
        totals.goesOn(counted, promptLength, TimeUnit.MILLISECONDS.toNanos(millis), 1);
        return counted;
    }

    private Totals.View view() {
        return totals.view(0, 10);
    }

    @Test
    void nothing_is_known_before_the_first_answer() {
        assertThat(totals.view(3, 10)).isEqualTo(new Totals.View(3, 0, 0, 0, 0, 0, null, 0, 0, null));
    }

    @Test
    void the_hit_rate_is_cached_tokens_by_prompt_tokens_of_those_whose_workers_told() {
        totals.ended(false, 100, 96);
        totals.ended(false, 300, 0);
        totals.ended(false, 1_000, null);

        assertThat(view().hitRate()).isEqualTo(0.24);
        assertThat(view().promptTokens()).isEqualTo(400);
        assertThat(view().cachedTokens()).isEqualTo(96);
    }

    @Test
    void tokens_count_in_the_second_in_which_they_come_and_once() {
        pass(100);
        Totals.Counted answer = totals.begun();
        for (int second = 1; second <= 10; second++) {
            totals.goesOn(answer, 50, 1, 20 * second);
            totals.goesOn(answer, 50, 1, 20 * second);
            pass(1);
        }
        assertThat(view().tokensPerSecond()).isEqualTo(20);
        assertThat(view().completionTokens()).isEqualTo(200);
        assertThat(view().promptTokensPerSecond()).as("50 in ten seconds, with the first token").isEqualTo(5);
        pass(5);
        assertThat(view().tokensPerSecond()).as("five of these ten seconds had tokens").isEqualTo(10);
    }

    @Test
    void a_try_without_a_token_books_no_prompt() {
        pass(10);
        totals.goesOn(totals.begun(), 100, -1, 0);
        firstToken(30, 5);
        pass(1);
        assertThat(view().promptTokensPerSecond()).isEqualTo(3);
        assertThat(view().requests()).isEqualTo(2);
    }

    @Test
    void the_second_that_goes_on_does_not_count_yet() {
        pass(20);
        firstToken(100, 5);
        assertThat(view().promptTokensPerSecond()).isZero();
        pass(1);
        assertThat(view().promptTokensPerSecond()).isEqualTo(10);
    }

    @Test
    void of_a_router_two_seconds_old_rates_are_of_two_seconds() {
        totals.goesOn(totals.begun(), 100, 1, 30);
        pass(2);
        assertThat(view().tokensPerSecond()).isEqualTo(15);
    }

    @Test
    void rates_are_of_ten_seconds_and_hit_rate_and_first_tokens_of_sixty() {
        pass(100);
        firstToken(100, 40);
        totals.ended(false, 100, 50);
        pass(11);
        assertThat(view().promptTokensPerSecond()).isZero();
        assertThat(view().hitRate()).isEqualTo(0.5);
        assertThat(view().firstTokenMs()).isEqualTo(new Totals.Quantiles(40, 40));
        pass(50);
        assertThat(view().hitRate()).isNull();
        assertThat(view().firstTokenMs()).isNull();
        assertThat(view().cachedTokens()).as("in all").isEqualTo(50);
    }

    @Test
    void of_a_hundred_first_tokens_the_median_is_the_fiftieth_and_p99_the_ninety_ninth() {
        for (int i = 100; i >= 1; i--) {
            firstToken(10, i);
        }
        assertThat(view().firstTokenMs()).isEqualTo(new Totals.Quantiles(50, 99));
    }

    @Test
    void of_two_thousand_first_tokens_in_a_minute_the_last_1024_count() {
        for (int i = 1; i <= 2_000; i++) {
            firstToken(10, i);
        }
        assertThat(view().firstTokenMs()).isEqualTo(new Totals.Quantiles(976 + 512, 976 + 1_014));
    }

    @Test
    void a_lost_worker_is_a_failure() {
        totals.ended(false, 10, null);
        totals.ended(true, 10, null);
        assertThat(view().failed()).isEqualTo(1);
    }
}
