package dev.warmpath.worker.metrics;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.routerlink.RedisAnnouncer;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Like {@link MeterValuesTest}: numbers that all differ. */
class RedisMetersTest {

    private RedisAnnouncer.Status now = new RedisAnnouncer.Status(null, 700, 50, 3);

    @Test
    void every_meter_shows_its_own_number() {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        MeterBinder meters = new RedisMeters(() -> now);
        meters.bindTo(registry);

        assertThat(Scrape.samples(registry.scrape())).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry("warmpath_redis_announcing", 1.0),
                entry("warmpath_redis_batches_total", 700.0),
                entry("warmpath_redis_checkpoints_total", 50.0),
                entry("warmpath_redis_restarts_total", 3.0)));

        now = new RedisAnnouncer.Status("lost", 700, 50, 4);
        assertThat(Scrape.samples(registry.scrape())).containsEntry("warmpath_redis_announcing", 0.0);
    }
}
