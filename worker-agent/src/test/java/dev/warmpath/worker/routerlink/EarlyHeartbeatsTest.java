package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class EarlyHeartbeatsTest {

    private static final long MILLI = 1_000_000;
    private final EarlyHeartbeats early = new EarlyHeartbeats(Duration.ofMillis(50));

    @Test
    void news_is_told_once_and_fifty_milliseconds_after_the_last_heartbeat_at_the_earliest() {
        take(early, /* news */ 7, 1_000 * MILLI);
        assertThat(early.isDue(7, false, /* routers */ 2, 1_900 * MILLI)).as("nothing new").isFalse();
        assertThat(early.isDue(8, false, 2, 1_050 * MILLI - 1)).isFalse();
        assertThat(early.isDue(8, false, 2, 1_050 * MILLI)).isTrue();
        take(early, 8, 1_050 * MILLI);
        assertThat(early.isDue(8, false, 2, 1_100 * MILLI)).isFalse();
    }

    /** One thing a millisecond for a second, looked at every millisecond. */
    @Test
    void a_thousand_news_a_second_are_twenty_heartbeats() {
        take(early, 0, 0);
        int heartbeats = 0;
        for (int i = 1; i <= 1_000; i++) {
            if (early.isDue(i, false, 8, i * MILLI)) {
                take(early, i, i * MILLI);
                heartbeats++;
            }
        }
        assertThat(heartbeats).isEqualTo(20);
    }

    @Test
    void one_router_knows_its_own_work_and_is_told_nothing_early() {
        take(early, 0, 0);
        assertThat(early.isDue(1, false, /* routers */ 1, 900 * MILLI)).isFalse();
        assertThat(early.isDue(1, false, /* routers */ 2, 900 * MILLI)).isTrue();
    }

    @Test
    void news_that_a_router_did_not_take_is_told_again_an_interval_after_the_try_and_then_no_more() {
        take(early, 0, 0);
        early.tried(100 * MILLI);
        assertThat(early.isDue(/* news */ 1, false, 2, 150 * MILLI - 1)).isFalse();
        assertThat(early.isDue(1, false, 2, 150 * MILLI)).isTrue();
        take(early, 1, 150 * MILLI);
        assertThat(early.isDue(1, false, 2, 900 * MILLI)).isFalse();
    }

    @Test
    void a_hold_and_its_end_are_told_to_one_router_too() {
        take(early, /* news */ 7, 0);
        assertThat(early.isDue(7, /* held */ true, /* routers */ 1, 50 * MILLI)).isTrue();
        early.tried(50 * MILLI);
        early.told(7, /* held */ true);
        assertThat(early.isDue(7, true, 1, 900 * MILLI)).isFalse();
        assertThat(early.isDue(7, false, 1, 900 * MILLI)).isTrue();
    }

    @Test
    void it_is_looked_for_every_interval_until_the_next_heartbeat_is_due_anyway() {
        assertThat(early.pauseNanos(950 * MILLI)).isEqualTo(50 * MILLI);
        assertThat(early.pauseNanos(20 * MILLI)).isEqualTo(20 * MILLI);
    }

    @Test
    void an_interval_of_zero_means_never() {
        var off = new EarlyHeartbeats(Duration.ZERO);
        take(off, 0, 0);
        assertThat(off.isDue(1, false, 8, 900 * MILLI)).isFalse();
        assertThat(off.pauseNanos(950 * MILLI)).isEqualTo(950 * MILLI);
    }

    @Test
    void an_interval_that_would_only_make_work_stops_the_start_with_a_sentence() {
        assertThatThrownBy(() -> new RouterLinkProperties(List.of(), null, null, Duration.ofSeconds(1),
                Duration.ofMillis(9)))
                .hasMessage("warmpath.routerlink.early-heartbeat-interval is PT0.009S, it must be 0 or at least 10ms");
    }

    /** The router takes a heartbeat. */
    private static void take(EarlyHeartbeats early, long news, long nowNanos) {
        early.tried(nowNanos);
        early.told(news, /* held */ false);
    }
}
