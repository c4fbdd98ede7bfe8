package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Whether keys are asked for. */
class KeysConfigurationTest {

    private final ApplicationContextRunner router = new ApplicationContextRunner()
            .withUserConfiguration(KeysConfiguration.class, Settings.class)
            .withBean(RouterMetrics.class, () -> new RouterMetrics(new SimpleMeterRegistry()));

    @EnableConfigurationProperties(ApiKeyProperties.class)
    static class Settings {}

    @Test
    void unset_lets_everybody_in_and_a_name_nobody_until_the_file_is_there() {
        router.run(context -> {
            assertThat(context.getBean(ApiKeys.class).areAsked()).isFalse();
            assertThat(context).doesNotHaveBean(KeyHealth.class);
        });
        router.withPropertyValues("warmpath.api-keys.file=/nowhere/keys").run(context -> {
            assertThat(context.getBean(ApiKeys.class).areAsked()).isTrue();
            assertThat(context).hasSingleBean(KeyHealth.class);
        });
    }

    /** As a template writes it that found no value. */
    @Test
    void an_empty_name_stops_the_start() {
        router.withPropertyValues("warmpath.api-keys.file=").run(context -> assertThat(context).getFailure()
                .rootCause().hasMessage("warmpath.api-keys.file is empty: name a file, or leave it unset"));
    }
}
