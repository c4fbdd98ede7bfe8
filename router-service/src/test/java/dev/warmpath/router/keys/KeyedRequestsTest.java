package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Sinks;

/** Who gets into a router that asks for keys, and what strangers cost it. */
@ExtendWith(OutputCaptureExtension.class)
@TestPropertySource(properties = {
    "warmpath.cors.allowed-origins=https://chat.example.org",
    "warmpath.decisions.file=target/keyed-decisions.jsonl"})
class KeyedRequestsTest extends KeyedRouter {

    private static String rawGet(String path, String headers) {
        return "GET " + path + " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + headers + "\r\n";
    }

    private static void assertRefused(HttpResponse<String> answer) {
        assertThat(answer.statusCode()).isEqualTo(401);
        assertThat(answer.headers().firstValue("www-authenticate")).contains("Bearer");
        assertThat(json(answer).path("error").path("type").asString()).isEqualTo("invalid_request_error");
        assertThat(json(answer).path("error").path("code").asString()).isEqualTo("invalid_api_key");
        assertThat(json(answer).path("error").path("param").isNull()).isTrue();
        assertThat(answer.body()).doesNotContain("SECRET");
    }

    @Test
    void without_a_key_nothing_is_done_and_with_one_all_is() {
        FakeWorker worker = join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));

        assertRefused(post("/v1/completions", TEXT));
        assertRefused(post("/v1/completions", "wp-wrong-SECRET", TEXT));
        assertThat(worker.requests()).isEmpty();
        assertThat(post("/v1/completions", TEAM, TEXT).statusCode()).isEqualTo(200);
        assertThat(raw(rawGet("/v1/models", "x-api-key: " + TEAM + "\r\n"))).startsWith("HTTP/1.1 200 ");
        assertThat(worker.requests()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/v1/models", "/v1/models/tiny", "/", "/nowhere", "/health/", "/health;a=b", "/Health",
        "//health", "/./health", "/health%2f", "/hea%6cth", "/actuator/health", "/v1/../health", "/version/x"})
    void a_path_that_is_none_of_three_needs_a_key_whether_it_is_served_or_not(String path) {
        assertThat(raw(rawGet(path, ""))).startsWith("HTTP/1.1 401 ").contains("invalid_api_key");
    }

    @Test
    void balancers_are_answered_without() {
        assertThat(get("/version").statusCode()).isEqualTo(200);
        assertThat(get("/health").statusCode()).isEqualTo(503);
        join("w");
        assertThat(get("/health").statusCode()).isEqualTo(200);
        assertThat(raw("POST /ping HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ");
        assertThat(get("/health?x=1").statusCode()).isEqualTo(200);
    }

    @Test
    void where_requests_would_go_and_where_they_went_is_told_to_operators_only() {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));

        for (String path : List.of("/v1/route", "/v1/rout%65", "/v1/route;a=b")) {
            HttpResponse<String> refused = post(path, TEAM, TEXT);
            assertThat(refused.statusCode()).isEqualTo(403);
            assertThat(json(refused).path("error").path("code").asString()).isEqualTo("permission_denied");
            assertThat(post(path, OPERATOR, TEXT).statusCode()).isEqualTo(200);
        }
        assertThat(post("/v1/completions", TEAM, TEXT).headers().map().keySet())
                .noneMatch(name -> name.startsWith("x-warmpath-"));
        assertThat(post("/v1/completions", OPERATOR, TEXT).headers().firstValue("x-warmpath-worker")).contains("w");
    }

    @ParameterizedTest
    @ValueSource(strings = {"authorization: Bearer \r\n", "authorization: Bearer\r\n", "x-api-key:\r\n",
        "authorization: Basic SECRET\r\n", "authorization: Bearer TEAM, Bearer TEAM\r\n",
        "authorization: Bearer TEAM\r\nauthorization: Bearer OTHER\r\n",
        "authorization: Bearer TEAM\r\nx-api-key: OTHER\r\n", "x-api-key: Bearer TEAM\r\n",
        "authorization: Bearer TEAM\u00e4\r\n", "authorization: Bearer \u0131\u4e2d\ud83d\ude00\r\n",
        "authorization: Bearer TEAM TEAM\r\n", "authorization: Bearer team\r\n", "proxy-authorization: Bearer TEAM\r\n",
        "cookie: key=TEAM\r\n"})
    void what_is_not_one_known_key_is_401(String headers) {
        String sent = headers.replace("TEAM", TEAM).replace("OTHER", "wp-other-SECRET");

        assertThat(raw(rawGet("/v1/models", sent))).startsWith("HTTP/1.1 401 ").contains("invalid_api_key")
                .doesNotContain("SECRET");
        assertThat(raw(rawGet("/v1/models?key=" + TEAM + "&api_key=" + TEAM, ""))).startsWith("HTTP/1.1 401 ");
    }

    @Test
    void a_key_of_10_kb_is_401_and_the_same_key_twice_is_one() {
        assertThat(raw(rawGet("/v1/models", "authorization: Bearer " + "x".repeat(10_000) + "\r\n")))
                .startsWith("HTTP/1.1 401 ");
        assertThat(raw(rawGet("/v1/models", "authorization: Bearer " + TEAM + "\r\nx-api-key: " + TEAM + "\r\n")))
                .startsWith("HTTP/1.1 200 ");
    }

    /** Whoever sends all before he reads gets his answer, and keeps his connection. */
    @Test
    void sixteen_megabytes_with_a_wrong_key_cost_no_place_and_no_memory() throws IOException {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));
        String json = TEXT.replace('\'', '"');
        byte[] piece = new byte[64 << 10];
        long before = PlatformDependent.usedDirectMemory();
        long most = 0;
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            var out = socket.getOutputStream();
            out.write(head("wp-wrong-SECRET", 16 << 20));
            for (int sent = 0; sent < 16 << 20; sent += piece.length) {
                out.write(piece);
                most = Math.max(most, PlatformDependent.usedDirectMemory());
                assertThat(heldBytes()).isZero();
                assertThat(inFlight()).isZero();
            }
            assertThat(answer(socket.getInputStream())).startsWith("HTTP/1.1 401 ");
            out.write(head(TEAM, json.length()));
            out.write(json.getBytes(StandardCharsets.US_ASCII));
            assertThat(answer(socket.getInputStream())).startsWith("HTTP/1.1 200 ");
        }
        assertThat(most - before).isLessThan(8 << 20);
    }

    private static byte[] head(String key, int length) {
        return ("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer " + key
                + "\r\ncontent-type: application/json\r\ncontent-length: " + length + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** Headers and body of one answer with a length. */
    private static String answer(InputStream in) throws IOException {
        var text = new StringBuilder();
        while (!text.toString().endsWith("\r\n\r\n")) {
            int next = in.read();
            assertThat(next).as(text.toString()).isNotNegative();
            text.append((char) next);
        }
        int length = text.toString().toLowerCase().lines().filter(line -> line.startsWith("content-length: "))
                .mapToInt(line -> Integer.parseInt(line.substring(16))).findFirst().orElseThrow();
        return text + new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    /** A stranger's body without an end is heard for 64 MB, as anybody's whose request was answered before. */
    @Test
    void a_body_without_an_end_ends_with_its_connection() throws IOException {
        byte[] chunk = ("10000\r\n" + "x".repeat(0x10000) + "\r\n").getBytes(StandardCharsets.US_ASCII);
        long sent = 0;
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            socket.getOutputStream().write(("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\n"
                    + "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            while (sent < 512L << 20) {
                socket.getOutputStream().write(chunk);
                sent += chunk.length;
            }
        } catch (IOException e) {
            assertThat(sent).isBetween(64L << 20, 128L << 20);
            return;
        }
        assertThat(sent).as("the connection took all of it").isZero();
    }

    @Test
    void a_key_that_is_taken_away_ends_no_stream_and_begins_none() throws Exception {
        Sinks.Empty<Void> goOn = Sinks.empty();
        FakeWorker worker = join("w").doing(FakeWorker.pausingUntil(goOn.asMono(), 12, 13, 14, 15));
        accept(KEYS + line("guest", "wp-guest", ""));
        var stream = new StringBuffer();
        var ended = new AtomicBoolean();
        Thread reader = Thread.ofVirtual().start(() -> {
            stream.append(post("/v1/completions", "wp-guest", TEXT.replace("}", ",'stream':true}")).body());
            ended.set(true);
        });
        eventually(() -> worker.generations() == 1);

        accept(KEYS);
        assertRefused(post("/v1/completions", "wp-guest", TEXT));
        assertThat(ended).isFalse();
        goOn.tryEmitEmpty();
        reader.join();
        assertThat(stream).endsWith("data: [DONE]\n\n");
    }

    @Test
    void a_file_that_is_spoilt_keeps_the_keys_of_before_and_is_told() {
        accept(KEYS);

        replaceFile("team wp-plain-SECRET\n");

        eventually(() -> management("/actuator/health").body().contains("the file of keys cannot be used: line 1:"));
        assertThat(management("/actuator/prometheus").body()).contains("warmpath_api_keys_outdated 1.0");
        assertThat(management("/actuator/health").body()).doesNotContain("SECRET").contains("\"status\":\"UP\"");
        assertThat(get("/v1/models", TEAM).statusCode()).isEqualTo(200);
        accept(KEYS);
        eventually(() -> management("/actuator/prometheus").body().contains("warmpath_api_keys_outdated 0.0"));
    }

    /** They bring no key to the question, and must be able to read that theirs is wrong. */
    @Test
    void web_pages_ask_without_a_key_and_are_told_of_a_wrong_one() {
        String page = "origin: https://chat.example.org\r\n";

        assertThat(raw("OPTIONS /v1/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + page
                + "access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n\r\n"))
                .startsWith("HTTP/1.1 200 ").containsIgnoringCase("access-control-allow-headers: authorization");
        assertThat(raw(rawGet("/v1/models", page))).startsWith("HTTP/1.1 401 ")
                .containsIgnoringCase("access-control-allow-origin: https://chat.example.org")
                .containsIgnoringCase("x-ratelimit-remaining-tokens");
        assertThat(raw("OPTIONS /v1/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 401 ");
    }

    @Test
    void no_key_is_anywhere_and_its_name_is_in_the_record(CapturedOutput output) throws IOException {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));

        HttpResponse<String> answer = post("/v1/completions", TEAM, TEXT);
        post("/v1/completions", TEAM, "{");
        post("/v1/route", TEAM, TEXT);
        post("/v1/completions", "wp-wrong-SECRET", TEXT);
        String id = answer.headers().firstValue("x-request-id").orElseThrow();
        Path decisions = Path.of("target/keyed-decisions.jsonl");
        eventually(() -> lineOf(decisions, id) != null);

        assertThat(lineOf(decisions, id)).contains("\"key\":\"team\"");
        String metrics = management("/actuator/prometheus").body();
        assertThat(metrics).contains("warmpath_key_tokens_total{key=\"team\",of=\"prompt\"}")
                .contains("warmpath_key_refusals_requests_total{cause=\"unknown\",key=\"-\"}")
                .contains("warmpath_key_refusals_requests_total{cause=\"operators_only\",key=\"team\"}");
        for (String place : List.of(output.getAll(), Files.readString(decisions), metrics, answer.body(),
                answer.headers().map().toString(), management("/actuator/decisions").body(),
                management("/actuator/health").body(), management("/actuator/info").body())) {
            assertThat(place).doesNotContain("SECRET").doesNotContain(KeyHash.of(TEAM).toString());
        }
    }

    private static String lineOf(Path file, String id) {
        try {
            return Files.readAllLines(file).stream().filter(line -> line.contains(id)).findFirst().orElse(null);
        } catch (IOException e) {
            return null;
        }
    }
}
