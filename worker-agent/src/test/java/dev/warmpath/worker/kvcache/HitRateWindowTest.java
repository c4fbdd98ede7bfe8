package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HitRateWindowTest {

    private final HitRateWindow window = new HitRateWindow(5);

    @Test
    @DisplayName("K40: a window of 5 requests")
    void the_oldest_reports_leave_when_there_are_too_many_requests() {
        window.observe(1, 20, 9);
        assertThat(window.hitRate()).isEqualTo(0.45);
        window.observe(4, 80, 16);
        assertThat(window.hitRate()).isEqualTo(0.25);
        window.observe(1, 10, 2);
        assertTotals(5, 90, 18);
        assertThat(window.hitRate()).isEqualTo(0.2);
        window.observe(0, 0, 0);
        assertTotals(5, 90, 18);
    }

    @Test
    @DisplayName("K40: the newest report always counts")
    void a_report_of_more_requests_than_the_window_takes_stands_alone() {
        window.observe(2, 20, 1);
        window.observe(9, 90, 45);

        assertTotals(9, 90, 45);
        window.observe(1, 10, 10);
        assertTotals(1, 10, 10);
    }

    @Test
    void many_single_requests_leave_the_last_five() {
        for (int i = 1; i <= 100; i++) {
            window.observe(1, 10, i % 10);
        }

        assertTotals(5, 50, 6 + 7 + 8 + 9);
    }

    @Test
    void a_new_window_and_a_cleared_one_show_nothing() {
        assertThat(window.hitRate()).isEqualTo(0.0);
        window.observe(3, 30, 30);

        window.clear();

        assertTotals(0, 0, 0);
        assertThat(window.hitRate()).isEqualTo(0.0);
        window.observe(1, 10, 5);
        assertTotals(1, 10, 5);
    }

    @Test
    void a_window_of_no_requests_is_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new HitRateWindow(0))
                .withMessage("a window of 0 requests shows nothing");
    }

    private void assertTotals(long requests, long queriedTokens, long hitTokens) {
        assertThat(window.requests()).isEqualTo(requests);
        assertThat(window.queriedTokens()).isEqualTo(queriedTokens);
        assertThat(window.hitTokens()).isEqualTo(hitTokens);
    }

    @Test
    void impossible_counts_are_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> window.observe(-1, 0, 0)).withMessageContaining("-1");
        assertThatIllegalArgumentException().isThrownBy(() -> window.observe(1, -2, -3)).withMessageContaining("-3");
        assertThatIllegalArgumentException().isThrownBy(() -> window.observe(1, 5, 6)).withMessageContaining("6");
        assertTotals(0, 0, 0);
    }
}
