package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.test.context.TestPropertySource;

/**
 * What browsers ask and are told, over plain sockets, since HTTP clients keep {@code Origin} to themselves. The router
 * counts as ready without a model.
 */
@TestPropertySource(properties = {
    "warmpath.cors.allowed-origins=https://chat.example.org,http://localhost:3000",
    "warmpath.readiness.require-model=false"})
class WebPagesTest extends RunningRouter {

    private static final String OURS = "https://chat.example.org";
    private static final String TEXT = "{\"model\":\"tiny\",\"prompt\":[10],\"max_tokens\":1}";

    private String answer(int port, String method, String path, String headers, String body) throws IOException {
        try (var socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write((method + " " + path + " HTTP/1.1\r\nhost: localhost\r\n"
                    + "connection: close\r\n" + headers + "content-length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String preflight(String path, String origin, String method) throws IOException {
        return answer(uri("/").getPort(), "OPTIONS", path, "origin: " + origin + "\r\naccess-control-request-method: "
                + method + "\r\naccess-control-request-headers: authorization,content-type,x-stainless-os\r\n", "");
    }

    private String post(String path, String origin, String body) throws IOException {
        return answer(uri("/").getPort(), "POST", path,
                "origin: " + origin + "\r\ncontent-type: application/json\r\n", body);
    }

    @Test
    void a_page_that_is_allowed_asks_first_and_then_reads_the_answer() throws IOException {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));

        assertThat(preflight("/v1/completions", OURS, "POST")).startsWith("HTTP/1.1 200 ")
                .containsIgnoringCase("access-control-allow-origin: " + OURS + "\r\n")
                .containsIgnoringCase("access-control-allow-headers: authorization, content-type, x-stainless-os\r\n")
                .containsIgnoringCase("access-control-max-age: 600\r\n")
                .doesNotContainIgnoringCase("access-control-allow-credentials");
        assertThat(post("/v1/completions", OURS, TEXT)).startsWith("HTTP/1.1 200 ")
                .containsIgnoringCase("access-control-allow-origin: " + OURS + "\r\n")
                .containsIgnoringCase("access-control-expose-headers: x-request-id, Retry-After, x-warmpath-worker")
                .contains("\"choices\"");
    }

    /** A page that cannot read an error can only guess. */
    @Test
    void errors_are_for_such_pages_to_read_too() throws IOException {
        assertThat(post("/v1/completions", "http://localhost:3000", "{")).startsWith("HTTP/1.1 400 ")
                .containsIgnoringCase("access-control-allow-origin: http://localhost:3000\r\n")
                .contains("invalid_json");
        assertThat(post("/v1/nowhere", OURS, "")).startsWith("HTTP/1.1 404 ")
                .containsIgnoringCase("access-control-allow-origin: " + OURS + "\r\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"https://evil.example", "https://chat.example.org.evil.example", "http://chat.example.org",
        "https://chat.example.org:8443", "null", "*", "https://[", "file://"})
    void other_pages_are_refused_before_anything_is_done(String origin) throws IOException {
        for (String refusal : List.of(preflight("/v1/completions", origin, "POST"),
                post("/v1/completions", origin, TEXT))) {
            assertThat(refusal).startsWith("HTTP/1.1 40").doesNotContainIgnoringCase("access-control-allow-origin");
        }
        assertThat(inFlight()).isZero();
    }

    @ErrorRow("403 forbidden")
    @Test
    void the_refusal_is_an_error_object_that_repeats_nothing() throws IOException {
        String body = ErrorAnswer.object("pages from this origin may not do this here, see "
                + "warmpath.cors.allowed-origins", "invalid_request_error", null, "forbidden");

        assertThat(post("/v1/completions", "https://evil.example", TEXT)).startsWith("HTTP/1.1 403 ")
                .endsWith("\r\n\r\n" + body);
    }

    @ParameterizedTest
    @ValueSource(strings = {"DELETE", "PUT", "TRACE", "BREW", "POST,DELETE"})
    void methods_that_the_api_does_not_have_are_refused_in_advance(String method) throws IOException {
        assertThat(preflight("/v1/completions", OURS, method)).startsWith("HTTP/1.1 403 ")
                .doesNotContainIgnoringCase("access-control-allow-methods");
    }

    /** Read by nobody, and answered by the server beneath, which waits for the rest of such a request. */
    @Test
    void an_origin_that_is_longer_than_headers_may_be_is_refused_by_its_length() throws IOException {
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            socket.getOutputStream().write(("OPTIONS /v1/completions HTTP/1.1\r\nhost: localhost\r\norigin: https://"
                    + "a".repeat(17 << 10)).getBytes(StandardCharsets.US_ASCII));
            assertThat(socket.getInputStream().readNBytes(13)).asString(StandardCharsets.US_ASCII)
                    .isEqualTo("HTTP/1.1 431 ");
        }
    }

    @Test
    void what_is_no_browser_is_asked_for_nothing() {
        assertThat(get("/v1/models").statusCode()).isEqualTo(200);
        assertThat(get("/v1/models").headers().map()).doesNotContainKey("access-control-allow-origin");
    }

    /** Pages have no business there, whoever they are. */
    @Test
    void the_management_port_lets_no_page_in() throws IOException {
        assertThat(answer(managementPort(), "GET", "/actuator/workers", "origin: " + OURS + "\r\n", ""))
                .doesNotContainIgnoringCase("access-control-allow-origin");
        assertThat(answer(managementPort(), "PUT", "/internal/v1/workers/w/drain", "origin: " + OURS + "\r\n", ""))
                .startsWith("HTTP/1.1 403 ");
    }

    @Test
    void a_router_that_need_not_have_a_model_is_ready_without() {
        assertThat(get("/health").statusCode()).isEqualTo(200);
        assertThat(management("/actuator/health/readiness").statusCode()).isEqualTo(200);
        assertThat(management("/actuator/health").body()).contains("\"degraded\":\"no model has a ready worker\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "chat.example.org", "https://", "https://chat.example.org/", "https://*.example.org",
        "null", "https://a b"})
    void what_is_no_origin_stops_the_start(String origin) {
        assertThatThrownBy(() -> new CorsProperties(List.of(origin)))
                .hasMessageContaining("warmpath.cors.allowed-origins has '" + origin + "'");
    }
}
