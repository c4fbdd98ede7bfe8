package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** At 5 s, of one that is missed after 30 s. */
@ExtendWith(OutputCaptureExtension.class)
class EventConnectionTest {

    private static final long START = Duration.ofSeconds(5).toNanos();
    private static final long PATIENCE = EventConnection.PATIENCE.toNanos();

    private final EventConnection connection =
            new EventConnection("tcp://engine:5557", EventConnection.PATIENCE, START);

    @Test
    void what_does_not_come_is_said_once_after_half_a_minute_and_so_is_that_it_comes(CapturedOutput log) {
        connection.look(START + PATIENCE - 1);
        assertThat(connection.nanosUntilMissed(START + PATIENCE - 1)).isEqualTo(1);
        assertThat(log.getOut()).doesNotContain("tcp://engine:5557");
        connection.look(START + PATIENCE);
        connection.look(START + 10 * PATIENCE);
        assertThat(connection.nanosUntilMissed(START + 10 * PATIENCE)).isEqualTo(Long.MAX_VALUE);
        assertThat(log.getOut().lines().filter(line -> line.contains("tcp://engine:5557"))).singleElement().asString()
                .contains("WARN", "no engine's events can be reached at tcp://engine:5557 for 30 s",
                        "--kv-events-config", "warmpath.engine.events.endpoint");

        connection.made();
        connection.made();
        assertThat(connection.isThere()).isTrue();
        assertThat(log.getOut().lines().filter(line -> line.contains("are followed again"))).hasSize(1);
    }

    @Test
    void a_connection_that_is_made_again_in_time_is_no_news_and_one_that_stays_away_is(CapturedOutput log) {
        connection.made();
        connection.lost(START);
        connection.look(START + PATIENCE / 2);
        connection.made();
        connection.lost(START + PATIENCE);
        connection.lost(START + PATIENCE + PATIENCE / 2);
        connection.look(START + 2 * PATIENCE - 1);
        assertThat(log.getOut()).doesNotContain("no engine's events");
        connection.look(START + 2 * PATIENCE);
        assertThat(log.getOut()).contains("no engine's events can be reached at tcp://engine:5557 for 30 s");
        assertThat(connection.isThere()).isFalse();
    }
}
