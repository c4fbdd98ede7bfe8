package dev.warmpath.router.management;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.Doors;
import dev.warmpath.router.RouterApplication;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Import;

/** A whole router with a token, asked by somebody who has none. */
@Import(Doors.class)
@SpringBootTest(classes = RouterApplication.class, webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.fleet.token=hush", "warmpath.management.token=boss", "management.server.port=0",
})
class OpenDoorsTest {

    @Autowired
    Doors doors;

    /** A new line here is a new way into a router: look twice at its statuses. */
    @Test
    void every_mapping_of_every_port_answers_a_stranger_like_this() {
        assertThat(doors.answers()).containsExactly(
                "GET /actuator: public 404, management 200",
                "HEAD /actuator: public 404, management 200",
                "OPTIONS /actuator: public 404, management 200",
                "GET /actuator/decisions: public 404, management 200",
                "HEAD /actuator/decisions: public 404, management 200",
                "OPTIONS /actuator/decisions: public 404, management 200",
                "GET /actuator/decisions/{request}: public 404, management 200",
                "HEAD /actuator/decisions/{request}: public 404, management 200",
                "OPTIONS /actuator/decisions/{request}: public 404, management 200",
                "GET /actuator/health: public 404, management 503",
                "HEAD /actuator/health: public 404, management 503",
                "OPTIONS /actuator/health: public 404, management 200",
                "GET /actuator/health/{*path}: public 404, management 404",
                "HEAD /actuator/health/{*path}: public 404, management 404",
                "OPTIONS /actuator/health/{*path}: public 404, management 200",
                "GET /actuator/info: public 404, management 200",
                "HEAD /actuator/info: public 404, management 200",
                "OPTIONS /actuator/info: public 404, management 200",
                "GET /actuator/prefixindex: public 404, management 200",
                "HEAD /actuator/prefixindex: public 404, management 200",
                "OPTIONS /actuator/prefixindex: public 404, management 200",
                "GET /actuator/prefixindex/{hash}: public 404, management 400",
                "HEAD /actuator/prefixindex/{hash}: public 404, management 400",
                "OPTIONS /actuator/prefixindex/{hash}: public 404, management 200",
                "GET /actuator/prometheus: public 404, management 200",
                "HEAD /actuator/prometheus: public 404, management 200",
                "OPTIONS /actuator/prometheus: public 404, management 200",
                "GET /actuator/revisions: public 404, management 200",
                "HEAD /actuator/revisions: public 404, management 200",
                "OPTIONS /actuator/revisions: public 404, management 200",
                "GET /actuator/workers: public 404, management 200",
                "HEAD /actuator/workers: public 404, management 200",
                "OPTIONS /actuator/workers: public 404, management 200",
                "HEAD /detokenize: public 405, management 404",
                "OPTIONS /detokenize: public 200, management 404",
                "POST /detokenize: public 400, management 404",
                "GET /health: public 503, management 404",
                "HEAD /health: public 503, management 404",
                "OPTIONS /health: public 200, management 404",
                "HEAD /internal/v1/farewells: public 404, management 404",
                "OPTIONS /internal/v1/farewells: public 404, management 404",
                "POST /internal/v1/farewells: public 404, management 401",
                "HEAD /internal/v1/heartbeats: public 404, management 404",
                "OPTIONS /internal/v1/heartbeats: public 404, management 404",
                "POST /internal/v1/heartbeats: public 404, management 401",
                "HEAD /internal/v1/registrations: public 404, management 404",
                "OPTIONS /internal/v1/registrations: public 404, management 404",
                "POST /internal/v1/registrations: public 404, management 401",
                "DELETE /internal/v1/revisions/{id}/drain: public 404, management 401",
                "HEAD /internal/v1/revisions/{id}/drain: public 404, management 404",
                "OPTIONS /internal/v1/revisions/{id}/drain: public 404, management 404",
                "PUT /internal/v1/revisions/{id}/drain: public 404, management 401",
                "DELETE /internal/v1/revisions/{id}/pin: public 404, management 401",
                "HEAD /internal/v1/revisions/{id}/pin: public 404, management 404",
                "OPTIONS /internal/v1/revisions/{id}/pin: public 404, management 404",
                "PUT /internal/v1/revisions/{id}/pin: public 404, management 401",
                "DELETE /internal/v1/revisions/{id}/weight: public 404, management 401",
                "HEAD /internal/v1/revisions/{id}/weight: public 404, management 404",
                "OPTIONS /internal/v1/revisions/{id}/weight: public 404, management 404",
                "PUT /internal/v1/revisions/{id}/weight: public 404, management 401",
                "DELETE /internal/v1/workers/{id}/drain: public 404, management 401",
                "HEAD /internal/v1/workers/{id}/drain: public 404, management 404",
                "OPTIONS /internal/v1/workers/{id}/drain: public 404, management 404",
                "PUT /internal/v1/workers/{id}/drain: public 404, management 401",
                "GET /ping: public 503, management 404",
                "HEAD /ping: public 503, management 404",
                "OPTIONS /ping: public 200, management 404",
                "POST /ping: public 503, management 404",
                "HEAD /tokenize: public 405, management 404",
                "OPTIONS /tokenize: public 200, management 404",
                "POST /tokenize: public 400, management 404",
                "HEAD /v1/chat/completions: public 405, management 404",
                "OPTIONS /v1/chat/completions: public 200, management 404",
                "POST /v1/chat/completions: public 400, management 404",
                "HEAD /v1/completions: public 405, management 404",
                "OPTIONS /v1/completions: public 200, management 404",
                "POST /v1/completions: public 400, management 404",
                "GET /v1/models: public 200, management 404",
                "HEAD /v1/models: public 200, management 404",
                "OPTIONS /v1/models: public 200, management 404",
                "GET /v1/models/{*name}: public 404, management 404",
                "HEAD /v1/models/{*name}: public 404, management 404",
                "OPTIONS /v1/models/{*name}: public 200, management 404",
                "HEAD /v1/route: public 405, management 404",
                "OPTIONS /v1/route: public 200, management 404",
                "POST /v1/route: public 400, management 404",
                "GET /version: public 200, management 404",
                "HEAD /version: public 200, management 404",
                "OPTIONS /version: public 200, management 404");
    }
}
