package dev.warmpath.router.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class RouterMetricsTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final RouterMetrics metrics = new RouterMetrics(registry);

    @Test
    void the_101st_model_is_counted_as_other() {
        for (int i = 0; i < 103; i++) {
            metrics.finished("model-" + i, 10, 2);
            metrics.cached("model-" + i, 8, 4);
        }
        metrics.finished("model-0", 10, 2);

        assertThat(registry.get("warmpath.prompt.tokens").tag("model", "other").counter().count()).isEqualTo(30);
        assertThat(registry.get("warmpath.prompt.tokens").tag("model", "model-0").counter().count()).isEqualTo(20);
        assertThat(registry.get("warmpath.prompt.tokens").counters()).hasSize(101);
        assertThat(registry.get("warmpath.cached.token.error").tag("model", "other").summary().max()).isEqualTo(4);
    }

    @Test
    void every_meter_has_its_own_name_and_a_description() {
        assertThat(Arrays.stream(RouterMeter.values()).map(RouterMeter::meterName)).doesNotHaveDuplicates()
                .allMatch(name -> name.matches("warmpath(\\.[a-z]+)+"));
        assertThat(Arrays.stream(RouterMeter.values()).map(RouterMeter::description)).doesNotContain("");
    }
}
