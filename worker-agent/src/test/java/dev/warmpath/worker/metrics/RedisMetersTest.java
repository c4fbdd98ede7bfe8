package dev.warmpath.worker.metrics;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.routerlink.RedisAnnouncer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Like {@link MeterValuesTest}: numbers that all differ. */
class RedisMetersTest {

    static final RedisAnnouncer.Status WELL = new RedisAnnouncer.Status(
            null, /* batches */ 700, /* checkpoints */ 50, /* restarts */ 3);

    @Test
    void every_meter_shows_its_own_number() {
        assertThat(Scrape.samples(scrape(WELL))).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry("warmpath_redis_announcing", 1.0),
                entry("warmpath_redis_batches_total", 700.0),
                entry("warmpath_redis_checkpoints_total", 50.0),
                entry("warmpath_redis_restarts_total", 3.0)));
        assertThat(Scrape.samples(scrape(new RedisAnnouncer.Status("lost", 700, 50, 4))))
                .containsEntry("warmpath_redis_announcing", 0.0);
    }

    static String scrape(RedisAnnouncer.Status status) {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        var meters = new RedisMeters(() -> status);
        meters.bindTo(registry);
        String text = registry.scrape();
        assertThat(meters).as("held until here: a registry holds what it measures weakly").isNotNull();
        return text;
    }
}
