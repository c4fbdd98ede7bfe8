package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.Doors;
import dev.warmpath.worker.WorkerApplication;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Import;

/** A whole worker with a token, asked by somebody who has none. */
@Import(Doors.class)
@SpringBootTest(classes = WorkerApplication.class, webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.worker.id=w", "warmpath.worker.base-url=http://127.0.0.1:1", "warmpath.kv.block-count=129",
    "warmpath.model.directory=../models/warmpath-tiny", "warmpath.compute.backend=vector", "warmpath.compute.threads=1",
    "warmpath.compute.warm-up=0s",
    "warmpath.compute.longest-step=1h",
    "warmpath.routerlink.token=secret", "management.server.port=0", "management.health.diskspace.enabled=false",
})
class FleetGateTest {

    @Autowired
    Doors doors;

    /** A new line here is a new way into a worker: look twice at its statuses. */
    @Test
    void every_path_of_every_port_is_closed_but_for_probes_and_scrapes() {
        assertThat(doors.answers()).containsExactly(
                "GET /**: public 401, management 401",
                "HEAD /**: public 401, management 401",
                "OPTIONS /**: public 401, management 401",
                "GET /actuator: public 404, management 200",
                "HEAD /actuator: public 404, management 200",
                "OPTIONS /actuator: public 401, management 401",
                "GET /actuator/drain: public 404, management 200",
                "HEAD /actuator/drain: public 404, management 200",
                "OPTIONS /actuator/drain: public 401, management 401",
                "POST /actuator/drain: public 401, management 401",
                "GET /actuator/health: public 404, management 200",
                "HEAD /actuator/health: public 404, management 200",
                "OPTIONS /actuator/health: public 401, management 401",
                "GET /actuator/health/{*path}: public 404, management 404",
                "HEAD /actuator/health/{*path}: public 404, management 404",
                "OPTIONS /actuator/health/{*path}: public 401, management 401",
                "GET /actuator/info: public 404, management 200",
                "HEAD /actuator/info: public 404, management 200",
                "OPTIONS /actuator/info: public 401, management 401",
                "GET /actuator/prometheus: public 404, management 200",
                "HEAD /actuator/prometheus: public 404, management 200",
                "OPTIONS /actuator/prometheus: public 401, management 401",
                "HEAD /actuator/reset-cache: public 401, management 401",
                "OPTIONS /actuator/reset-cache: public 401, management 401",
                "POST /actuator/reset-cache: public 401, management 401",
                "GET /internal/v1/events: public 401, management 401",
                "HEAD /internal/v1/events: public 401, management 401",
                "OPTIONS /internal/v1/events: public 401, management 401",
                "GET /internal/v1/files/{sha256}: public 401, management 401",
                "HEAD /internal/v1/files/{sha256}: public 401, management 401",
                "OPTIONS /internal/v1/files/{sha256}: public 401, management 401",
                "GET /internal/v1/pool: public 401, management 401",
                "HEAD /internal/v1/pool: public 401, management 401",
                "OPTIONS /internal/v1/pool: public 401, management 401",
                "GET /internal/v1/pool/blocks/{block}: public 401, management 401",
                "HEAD /internal/v1/pool/blocks/{block}: public 401, management 401",
                "OPTIONS /internal/v1/pool/blocks/{block}: public 401, management 401",
                "DELETE /internal/v1/pool/hold: public 401, management 401",
                "HEAD /internal/v1/pool/hold: public 401, management 401",
                "OPTIONS /internal/v1/pool/hold: public 401, management 401",
                "PUT /internal/v1/pool/hold: public 401, management 401",
                "GET /internal/v1/pool/requests/{request}: public 401, management 401",
                "HEAD /internal/v1/pool/requests/{request}: public 401, management 401",
                "OPTIONS /internal/v1/pool/requests/{request}: public 401, management 401",
                "HEAD /internal/v1/pool/reset: public 401, management 401",
                "OPTIONS /internal/v1/pool/reset: public 401, management 401",
                "POST /internal/v1/pool/reset: public 401, management 401",
                "HEAD /internal/v1/pool/step: public 401, management 401",
                "OPTIONS /internal/v1/pool/step: public 401, management 401",
                "POST /internal/v1/pool/step: public 401, management 401",
                "GET /metrics: public 200, management 404",
                "HEAD /metrics: public 200, management 404",
                "OPTIONS /metrics: public 401, management 401",
                "HEAD /v1/generate: public 401, management 401",
                "OPTIONS /v1/generate: public 401, management 401",
                "POST /v1/generate: public 401, management 401",
                "DELETE /v1/generate/{handle}: public 401, management 401",
                "HEAD /v1/generate/{handle}: public 401, management 401",
                "OPTIONS /v1/generate/{handle}: public 401, management 401",
                "GET /webjars/**: public 401, management 401",
                "HEAD /webjars/**: public 401, management 401",
                "OPTIONS /webjars/**: public 401, management 401");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "/v1/generate", "/v1/%67enerate", "/v1;a=b/generate", "/v1/generate;a=b", "//v1/generate", "/v1//generate",
        "/v1/./generate", "/./v1/generate", "/x/../v1/generate", "/v1/%2e/generate", "/V1/Generate", "/v1/generate/",
        "/v1%2fgenerate", "/v1/generate?x=/metrics", "/metrics/../v1/generate", "/actuator/health/../../v1/generate",
        "/metrics", "/metrics;/../v1/generate", "http://127.0.0.1/v1/generate", "*", "/v1/generate%00", "/v1\\generate",
    })
    void no_spelling_of_a_path_lets_a_stranger_post(String path) throws IOException {
        assertThat(statusLine("POST", path)).matches("HTTP/1.1 (401|400) .*");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "/internal/v1/events", "/internal/v1/%65vents?epoch=1", "/internal;a=b/v1/events", "/metrics/../internal/v1/events",
        "/actuator/health/../../internal/v1/events", "/actuator/health/%2e%2e/%2e%2e/internal/v1/events",
        "/internal/v1/files/x", "/metrics/", "/Metrics", "/metrics%20", "/actuator/env", "/actuator/heapdump",
    })
    void no_spelling_of_a_path_lets_a_stranger_read(String path) throws IOException {
        assertThat(statusLine("GET", path)).matches("HTTP/1.1 (401|400) .*");
    }

    /** Sent as it is: a client would tidy it up. */
    private String statusLine(String method, String path) throws IOException {
        try (var socket = new Socket(InetAddress.getLoopbackAddress(), doors.port("public"))) {
            socket.getOutputStream().write((method + " " + path + " HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").getBytes(StandardCharsets.UTF_8));
            return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8)).readLine();
        }
    }
}
