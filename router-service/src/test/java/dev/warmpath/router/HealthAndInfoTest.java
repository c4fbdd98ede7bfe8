package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What a whole router says of itself. */
class HealthAndInfoTest extends RunningRouter {

    @Test
    void what_is_not_well_with_workers_is_told_and_takes_nobody_out() {
        FakeWorker worker = join("w0");
        join("w1");
        assertThat(workersHealth().at("/details/count").asInt()).isEqualTo(2);
        assertThat(workersHealth().at("/details/degraded").isMissingNode()).isTrue();

        fleet.eventsStuck(registered(worker), "its stream breaks");

        assertThat(workersHealth().at("/status").asString()).isEqualTo("UP");
        assertThat(workersHealth().at("/details/degraded/0").asString())
                .isEqualTo("1 of the workers cannot be followed");
        assertThat(workersHealth().at("/details/degraded").size()).isEqualTo(1);
        for (String group : List.of("", "/liveness", "/readiness", "/startup")) {
            assertThat(management("/actuator/health" + group).statusCode()).as(group).isEqualTo(200);
        }
    }

    private JsonNode workersHealth() {
        return json(management("/actuator/health")).at("/components/workers");
    }

    /** A pod is started once, and need not have a worker for that. */
    @Test
    void a_router_has_started_before_it_is_ready() {
        assertThat(management("/actuator/health/startup").statusCode()).isEqualTo(200);
        assertThat(management("/actuator/health/readiness").statusCode()).isEqualTo(503);
    }

    @Test
    void info_has_build_java_models_and_a_hash_of_the_settings() {
        join("w0");
        JsonNode info = json(management("/actuator/info"));

        assertThat(info.at("/build/version").asString()).isEqualTo(json(get("/version")).at("/version").asString());
        assertThat(info.at("/build/commit").asString()).matches("[0-9a-f]{40}(-dirty)?|unknown");
        assertThat(info.at("/java/version").asString()).startsWith("25");
        assertThat(info.at("/models/tiny").valueStream().map(JsonNode::asString)).containsExactly(REVISION);
        assertThat(info.at("/settings/hash").asString()).matches("[0-9a-f]{16}");
        assertThat(info.at("/settings/capabilities").propertyNames())
                .contains("admission", "connections", "cors", "dispatch", "drain", "fleet", "shutdown");
    }
}
