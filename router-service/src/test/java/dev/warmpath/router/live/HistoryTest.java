package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HistoryTest {

    private final History history = new History();

    private void add(long second, double usage) {
        history.add(second, usage, Double.NaN, 0, 0, 1, 2, 3);
    }

    @Test
    void points_come_back_in_order_with_null_where_nothing_was_known() {
        add(100, 0.25);
        add(101, 0.5);

        History.View view = history.view();

        assertThat(view.at()).isEqualTo(101);
        assertThat(view.series().get("usage")).containsExactly(0.25, 0.5);
        assertThat(view.series().get("hit_rate")).containsExactly(null, null);
        assertThat(view.series()).containsOnlyKeys("usage", "hit_rate", "tokens_per_second",
                "prompt_tokens_per_second", "running", "waiting", "first_token_ms");
    }

    @Test
    void a_second_that_was_missed_is_one_of_which_nothing_is_known() {
        add(100, 0.25);
        add(103, 0.5);

        assertThat(history.view().series().get("usage")).containsExactly(0.25, null, null, 0.5);
    }

    @Test
    void the_last_300_seconds_are_kept_also_behind_a_long_sleep() {
        for (int second = 0; second < 400; second++) {
            add(second, second);
        }
        assertThat(history.view().series().get("usage")).hasSize(300).startsWith(100.0).endsWith(399.0);
        add(100_000, 7);
        assertThat(history.view().series().get("usage")).hasSize(300).endsWith(7.0);
    }
}
