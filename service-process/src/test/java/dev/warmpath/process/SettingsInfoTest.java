package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class SettingsInfoTest {

    @ConfigurationProperties("warmpath.kv")
    record Kv(@DefaultValue("1s") Duration longestWait, @DefaultValue("16") int blockSize,
            @DefaultValue Map<String, Double> weights) {}

    @ConfigurationProperties("warmpath.fleet")
    record Secrets(@Nullable String token, @Nullable String previousToken, @Nullable String password,
            @Nullable String uri) {}

    @ConfigurationProperties("warmpath.compute")
    record Compute(@DefaultValue Cuda cuda) {
        record Cuda(@DefaultValue("0") String device, @DefaultValue("x") String driver) {}
    }

    @ConfigurationProperties("warmpath.worker")
    record Worker(@Nullable String id, @Nullable String baseUrl) {}

    @ConfigurationProperties("other")
    record Others(@Nullable String name) {}

    @EnableConfigurationProperties({Kv.class, Secrets.class, Compute.class, Worker.class, Others.class})
    static class Settings {}

    private static Map<?, ?> told(String... settings) {
        var told = new Info.Builder();
        new ApplicationContextRunner().withUserConfiguration(Settings.class).withPropertyValues(settings)
                .run(context -> new SettingsInfo(context).contribute(told));
        return (Map<?, ?>) told.build().getDetails().get("settings");
    }

    private static Object hash(String... settings) {
        return told(settings).get("hash");
    }

    @Test
    void what_means_the_same_has_the_same_hash_however_it_is_written_or_left_out() {
        assertThat(hash()).asString().matches("[0-9a-f]{16}")
                .isEqualTo(hash("warmpath.kv.longest-wait=1000ms", "warmpath.kv.blockSize=16"))
                .isNotEqualTo(hash("warmpath.kv.longest-wait=1001ms"));
        assertThat(hash("warmpath.kv.weights.a=1", "warmpath.kv.weights.b=2"))
                .isEqualTo(hash("warmpath.kv.weights.b=2", "warmpath.kv.weights.a=1.0"))
                .isNotEqualTo(hash("warmpath.kv.weights.a=2", "warmpath.kv.weights.b=1"));
    }

    @Test
    void a_capability_that_differs_is_found_by_its_own_hash() {
        Map<?, ?> one = (Map<?, ?>) told().get("capabilities");
        Map<?, ?> other = (Map<?, ?>) told("warmpath.compute.cuda.driver=y").get("capabilities");

        assertThat(one.keySet()).asString().isEqualTo("[compute, fleet, kv]");
        assertThat(one.keySet().stream().filter(name -> !one.get(name).equals(other.get(name))).toList())
                .asString().isEqualTo("[compute]");
    }

    @Test
    void what_is_one_processes_own_does_not_count() {
        assertThat(hash("warmpath.worker.id=w1", "warmpath.worker.base-url=http://10.0.0.1:8081",
                "warmpath.compute.cuda.device=1", "other.name=x")).isEqualTo(hash());
    }

    /** Whoever has a hash could try out what it is of. */
    @Test
    void no_secret_is_in_it() {
        assertThat(hash("warmpath.fleet.token=hush", "warmpath.fleet.previous-token=hush",
                "warmpath.fleet.password=hush")).isEqualTo(hash());
        assertThat(hash("warmpath.fleet.uri=redis://me:hush@host:1"))
                .isEqualTo(hash("warmpath.fleet.uri=redis://host:1"))
                .isNotEqualTo(hash("warmpath.fleet.uri=redis://host:2"));
        new ApplicationContextRunner().withUserConfiguration(Settings.class)
                .withPropertyValues("warmpath.fleet.token=hush", "warmpath.fleet.uri=redis://me:hush@host:1")
                .run(context -> assertThat(new SettingsInfo(context).settings().values())
                        .containsExactly("x", "redis://host:1", "16", "PT1S", "{}"));
    }
}
