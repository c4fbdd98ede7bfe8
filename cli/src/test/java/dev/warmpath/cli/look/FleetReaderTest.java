package dev.warmpath.cli.look;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two routers, looked at again and again by a clock of the test's own. */
class FleetReaderTest {

    private ScriptedRouter one;
    private ScriptedRouter other;
    private FleetReader reader;
    private long seconds;

    @BeforeEach
    void start() throws IOException {
        one = new ScriptedRouter();
        other = new ScriptedRouter();
        var secrets = new Secrets(null, "", null, "", Set.of());
        reader = new FleetReader(new Fleet(List.of(router(one, secrets), router(other, secrets)), secrets),
                () -> seconds * 1_000_000_000);
    }

    @AfterEach
    void stop() {
        one.close();
        other.close();
    }

    @Test
    void a_router_that_comes_back_is_no_spike() {
        assertThat(at(0, 1_000, 500_000).requestsPerSecond()).isNull();
        assertThat(at(2, 1_020, 500_040).requestsPerSecond()).isEqualTo(30);            // 10 and 20
        assertThat(at(4, 1_040, -1).requestsPerSecond()).isEqualTo(10);
        assertThat(at(6, 1_060, 500_120).requestsPerSecond()).isEqualTo(30);            // 60 and 120 within 6 s
        assertThat(at(100, 1_061, 900_000).requestsPerSecond()).isNull();               // nothing is known of lately
        assertThat(at(102, 1_063, 900_002).requestsPerSecond()).isEqualTo(2);
    }

    @Test
    void a_router_that_is_seen_late_brings_nothing_of_before_into_the_last_minute() {
        at(0, 1_000, -1);
        FleetReading.Router both = at(2, 1_010, 500_000);

        assertThat(both.requestsPerSecond()).isEqualTo(5);
        assertThat(both.requests()).isEqualTo(501_010);
        assertThat(both.hitRate()).isEqualTo(0.25);                        // 100 prompt tokens, 25 of them cached
    }

    @Test
    void the_first_look_is_of_all_time() {
        assertThat(at(0, 1_000, 500_000).hitRate()).isEqualTo(0.25);
    }

    /** @param requests of each until then, of 10 prompt tokens; below 0: it does not answer */
    private FleetReading.Router at(long now, int requests, int othersRequests) {
        seconds = now;
        counted(one, requests);
        counted(other, othersRequests);
        return reader.read().router();
    }

    private static void counted(ScriptedRouter router, int requests) {
        router.says("GET /actuator/prometheus", requests < 0 ? 503 : 200, """
                warmpath_requests_total{outcome="answered"} %d
                warmpath_prompt_tokens_total %d
                warmpath_cached_tokens_total %s
                """.formatted(requests, 10 * requests, 2.5 * requests));
    }

    private static Fleet.Router router(ScriptedRouter router, Secrets secrets) {
        URI url = URI.create(router.url());
        return new Fleet.Router(HttpServer.api(url, "the router's API", null, ""), secrets.router(url));
    }
}
