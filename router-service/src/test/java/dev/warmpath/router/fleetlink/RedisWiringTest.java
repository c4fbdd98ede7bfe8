package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.redislink.TestRedis;
import dev.warmpath.router.fleet.FleetProperties;
import dev.warmpath.router.health.HealthProperties;
import dev.warmpath.router.metrics.RouterMetrics;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A router with Redis configured, seen from its management port. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT, properties = {
    "server.address=127.0.0.1", "management.server.address=127.0.0.1", "management.server.port=0",
    "management.endpoint.health.group.readiness.include=readinessState",
    "management.endpoint.health.group.startup.include=livenessState"})
class RedisWiringTest {

    private static final TestRedis REDIS = TestRedis.absent();

    @SpringBootApplication(scanBasePackages = {
        "dev.warmpath.router.fleetlink", "dev.warmpath.router.management"})
    @EnableConfigurationProperties({FleetProperties.class, HealthProperties.class})
    @Import(RouterMetrics.class)
    static class FleetOnly {}

    @LocalManagementPort int port;
    @Autowired JsonMapper json;
    private final HttpClient http = HttpClient.newHttpClient();

    @DynamicPropertySource
    static void redisIsNotThereYet(DynamicPropertyRegistry registry) {
        registry.add("warmpath.redis.uri", REDIS::uri);
    }

    @AfterAll
    static void close() {
        REDIS.close();
    }

    @Test
    void an_absent_redis_is_told_by_health_and_meters_and_takes_nothing_from_readiness() throws Exception {
        JsonNode redis = json.readTree(get("/actuator/health")).get("components").get("redis");
        assertThat(redis.get("status").asString()).isEqualTo("UP");
        assertThat(redis.get("details").get("server").asString()).isEqualTo("127.0.0.1:" + REDIS.port());
        assertThat(redis.get("details").get("degraded").asString()).isNotEmpty();
        assertThat(get("/actuator/health/readiness")).contains("UP");
        assertThat(get("/actuator/prometheus")).contains("warmpath_redis_connected_ratio 0.0",
                "warmpath_index_gaps_total 0.0", "warmpath_index_drift_copies_total 0.0",
                "warmpath_index_rejected_batches_total 0.0",
                "warmpath_index_reloads_copies_total{source=\"checkpoint\"} 0.0",
                "warmpath_index_reloads_copies_total{source=\"stream\"} 0.0",
                "warmpath_index_reloads_copies_total{source=\"worker\"} 0.0");

        REDIS.start();
        while (!get("/actuator/prometheus").contains("warmpath_redis_connected_ratio 1.0")) {
            Thread.sleep(50);
        }
        while (get("/actuator/health").contains("degraded")) {
            Thread.sleep(50);
        }
        assertThat(get("/actuator/prometheus")).contains("warmpath_index_entries_pairs 0.0", "warmpath_index_bytes",
                "warmpath_index_lag_seconds 0.0", "warmpath_index_lag_batches 0.0");
    }

    private String get(String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
        return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
}
