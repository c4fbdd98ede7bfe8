package dev.warmpath.router.connections;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class EventLoopDelayTest {

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final RouterMetrics metrics = new RouterMetrics(meters);
    private long millis;

    @Test
    void what_is_run_130_ms_after_it_was_asked_for_is_30_ms_late_and_the_next_is_counted_from_then() {
        var delay = new EventLoopDelay(metrics, () -> millis * 1_000_000);
        millis += 130;
        delay.run();
        millis += 100;
        delay.run();

        Timer late = meters.get("warmpath.event.loop.delay").timer();
        assertThat(late.count()).isEqualTo(2);
        assertThat(late.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(30);
    }
}
