package dev.warmpath.cli.look;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TotalsTest {

    private static final String EARLIER = """
            # HELP warmpath_requests_total Completions that ended
            warmpath_requests_total{api="chat",model="tiny",outcome="answered"} 90.0
            warmpath_requests_total{api="text",model="tiny",outcome="failed"} 10.0
            warmpath_requests_total_others{api="chat"} 1000.0
            warmpath_in_flight_requests 3.0
            warmpath_prompt_tokens_total{model="tiny"} 1.0E3
            warmpath_cached_tokens_total{model="tiny"} 500.0
            warmpath_completion_tokens_total{model="tiny"} 200.0
            warmpath_time_to_first_token_seconds_bucket{model="tiny",le="0.1"} 0.0
            warmpath_time_to_first_token_seconds_bucket{model="tiny",le="0.2"} 80.0
            warmpath_time_to_first_token_seconds_bucket{model="tiny",le="+Inf"} 100.0
            nonsense
            """;

    private final Totals earlier = Totals.of(new PrometheusText(EARLIER));

    @Test
    void series_of_a_name_are_added_up_and_others_are_not() {
        assertThat(earlier.requests()).isEqualTo(100);
        assertThat(earlier.failed()).isEqualTo(10);
        assertThat(earlier.inFlight()).isEqualTo(3);
        assertThat(earlier.promptTokens()).isEqualTo(1_000);
        assertThat(earlier.hitRate()).isEqualTo(0.5);
    }

    @Test
    void a_percentile_is_spread_evenly_over_its_bucket_and_beyond_the_last_one_it_is_the_last_bound() {
        assertThat(earlier.firstTokenMillis(0.5)).isEqualTo(162.5);         // 50 of the 80 between 100 and 200 ms
        assertThat(earlier.firstTokenMillis(0.99)).isEqualTo(200);
        assertThat(Totals.NONE.firstTokenMillis(0.5)).isNull();
    }

    @Test
    void what_came_since_is_the_difference_and_a_router_that_began_anew_counts_as_nothing() {
        Totals later = Totals.of(new PrometheusText(EARLIER
                .replace("answered\"} 90.0", "answered\"} 95.0").replace("200.0", "260.0")));

        assertThat(later.since(earlier).requests()).isEqualTo(5);
        assertThat(later.since(earlier).completionTokens()).isEqualTo(60);
        assertThat(earlier.since(later).completionTokens()).isZero();
        assertThat(later.since(earlier).hitRate()).isNull();
    }

    @Test
    void routers_are_added_up() {
        assertThat(earlier.plus(earlier).requests()).isEqualTo(200);
        assertThat(earlier.plus(earlier).inFlight()).isEqualTo(6);
        assertThat(earlier.plus(earlier).firstTokenMillis(0.5)).isEqualTo(162.5);
    }
}
