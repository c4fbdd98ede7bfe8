package dev.warmpath.process.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

class TracingSwitchTest {

    private static final String TRACER =
            "org.springframework.boot.micrometer.tracing.autoconfigure.NoopTracerAutoConfiguration";
    private static final String SDK =
            "org.springframework.boot.opentelemetry.autoconfigure.OpenTelemetrySdkAutoConfiguration";
    private static final String OTHER = "org.springframework.boot.webflux.autoconfigure.WebFluxAutoConfiguration";

    @Test
    void without_a_collector_nothing_of_tracing_is_wired_and_lines_of_the_log_have_no_column_for_it() {
        StandardEnvironment settings = settings(Map.of());

        assertThat(wired(settings)).containsExactly(false, false, true);
        assertThat(settings.getProperty("logging.expect-correlation-id", Boolean.class)).isFalse();
    }

    @Test
    void with_one_all_is_wired_unless_exporting_is_switched_off() {
        StandardEnvironment settings = settings(Map.of(TracingSwitch.ENDPOINT, "http://collector:4318/v1/traces"));
        StandardEnvironment off = settings(Map.of(TracingSwitch.ENDPOINT, "http://collector:4318/v1/traces",
                TracingSwitch.ENABLED, "false"));

        assertThat(wired(settings)).containsExactly(true, true, true);
        assertThat(settings.getProperty("logging.expect-correlation-id", Boolean.class)).isTrue();
        assertThat(wired(off)).containsExactly(false, false, true);
        assertThat(off.getProperty("logging.expect-correlation-id", Boolean.class)).isFalse();
    }

    private static StandardEnvironment settings(Map<String, Object> given) {
        var settings = new StandardEnvironment();
        settings.getPropertySources().addFirst(new MapPropertySource("given", given));
        new TracingSwitch.LogColumn().postProcessEnvironment(settings, new SpringApplication());
        return settings;
    }

    private static boolean[] wired(StandardEnvironment settings) {
        var wiring = new TracingSwitch.Wiring();
        wiring.setEnvironment(settings);
        return wiring.match(new String[] {TRACER, SDK, OTHER}, (AutoConfigurationMetadata) null);
    }
}
