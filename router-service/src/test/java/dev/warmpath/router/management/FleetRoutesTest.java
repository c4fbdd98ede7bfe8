package dev.warmpath.router.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.Farewell;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RequestProof;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetProperties;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.fleetlink.FakeWorker;
import dev.warmpath.router.health.HealthProperties;
import dev.warmpath.router.metrics.RouterMetrics;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.http.HttpResources;
import reactor.netty.resources.LoopResources;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Both ports are open, as in production. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT, properties = {
    "server.address=127.0.0.1", "management.server.address=127.0.0.1", "management.server.port=0",
    "management.endpoints.web.exposure.include=workers,revisions", "warmpath.fleet.token=hush",
    "warmpath.management.token=boss", "warmpath.fleet.lease-duration=1h"})
class FleetRoutesTest {

    @SpringBootApplication(scanBasePackages = {
        "dev.warmpath.router.fleetlink", "dev.warmpath.router.management"})
    @EnableConfigurationProperties({FleetProperties.class, HealthProperties.class})
    @Import(RouterMetrics.class)
    static class FleetOnly {}

    private static final FleetToken HUSH = FleetToken.of("hush");
    private static final String SENDER = Handshake.newNonce(new Random());

    @Autowired Environment environment;
    @Autowired JsonMapper json;
    @Autowired Fleet fleet;
    @Autowired ReactorResourceFactory publicPort;
    private final AtomicLong number = new AtomicLong(System.nanoTime());
    private final HttpClient http = HttpClient.newHttpClient();

    /** The tests share one router, and a worker of the next one may have the same name. */
    @AfterEach
    void the_fleet_is_empty_again() throws Exception {
        while (!fleet.snapshot().isEmpty()) {
            Thread.sleep(5);
        }
    }

    @Test
    void a_worker_registers_becomes_ready_and_is_seen_by_operators() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            assertThat(post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH).statusCode())
                    .isEqualTo(204);
            assertThat(post(Protocol.HEARTBEATS_PATH, new Heartbeat("w", 7, 2, 1, 900, 50, 0, 0, 0), HUSH)
                    .statusCode()).isEqualTo(204);
            while (fleet.model("tiny") == null) {
                Thread.sleep(5);
            }
            JsonNode seen = json.readTree(get("/actuator/workers").body()).get("workers").get(0);
            assertThat(seen.get("id").asString()).isEqualTo("w");
            assertThat(seen.get("state").asString()).isEqualTo("ready");
            assertThat(seen.get("running").asInt()).isEqualTo(2);
            assertThat(seen.get("freeBlocks").asInt()).isEqualTo(900);
            assertThat(seen.get("lastSequence").asInt()).isZero();
        }
    }

    @Test
    void a_registration_may_tell_of_a_host_tier_or_not() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            assertThat(json.writeValueAsString(worker.registration())).doesNotContain("hostBlockCount");
            worker.hostBlocks = 3_000;
            assertThat(post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH).statusCode()).isEqualTo(204);
            assertThat(fleet.everyone().getFirst().keys().blockCount()).isEqualTo(4_000);
        }
    }

    @Test
    void a_heartbeat_may_say_less_or_more_than_this_router_knows() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH);
            String older = """
                    {"workerId":"w","epoch":7,"running":2,"waiting":1,"freeBlocks":900,"pendingPromptTokens":50,
                    "lastSequence":0,"setSize":0,"setDigest":0}""";
            assertThat(postText(Protocol.HEARTBEATS_PATH, older, HUSH).body()).isEmpty();
            assertThat(fleet.everyone().getFirst().isDraining()).isFalse();

            String newer = older.replace("}", ",\"draining\":true,\"mood\":\"weary\"}");
            assertThat(postText(Protocol.HEARTBEATS_PATH, newer, HUSH).statusCode()).isEqualTo(204);
            assertThat(fleet.everyone().getFirst().isDraining()).isTrue();
        }
    }

    @Test
    void a_heartbeat_that_cannot_be_true_is_refused_and_nothing_of_it_is_believed() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH);
            String impossible = """
                    {"workerId":"w","epoch":7,"running":2,"waiting":1,"freeBlocks":900,"pendingPromptTokens":50,
                    "lastSequence":0,"setSize":0,"setDigest":0,"pendingRequests":2,
                    "routers":[{"router":"r1","requests":4,"pendingRequests":0,"pendingPromptTokens":0}]}""";

            HttpResponse<String> answer = postText(Protocol.HEARTBEATS_PATH, impossible, HUSH);
            assertThat(answer.statusCode()).isEqualTo(422);
            assertThat(answer.body()).contains("\"invalid\"", "sum of routers' requests 4 is above 3");
            assertThat(postText(Protocol.HEARTBEATS_PATH, impossible.replace("\"r1\",\"requests\":4",
                    "null,\"requests\":1"), HUSH).statusCode()).as("nobody's part").isEqualTo(422);
            assertProblem(post(Protocol.HEARTBEATS_PATH, new Heartbeat("w", 7, 2, 1, 1_001, 50, 0, 0, 0), HUSH), 422,
                    "invalid", "freeBlocks 1001 is above 1000");
            assertThat(fleet.everyone().getFirst().heartbeat()).isNull();
        }
    }

    @Test
    void an_operator_drains_a_worker_and_weighs_and_pins_a_revision_and_sees_it() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH);
            while (fleet.model("tiny") == null) {
                Thread.sleep(5);
            }
            String drain = "/internal/v1/workers/w/drain";
            String revision = "/internal/v1/revisions/" + fleet.model("tiny").revision();

            assertThat(operator("PUT", drain, "Bearer boss")).isEqualTo(204);
            assertThat(get("/actuator/workers").body()).contains("\"draining\"");
            assertThat(operator("DELETE", drain, "Bearer boss")).isEqualTo(204);
            assertThat(get("/actuator/workers").body()).doesNotContain("\"draining\"");

            assertThat(operator("PUT", revision + "/drain", "Bearer boss")).isEqualTo(204);
            assertThat(fleet.model("tiny")).isNull();
            assertThat(operator("PUT", revision + "/weight?value=0.5", "Bearer boss")).isEqualTo(204);
            assertThat(operator("PUT", revision + "/pin", "Bearer boss")).isEqualTo(204);
            JsonNode seen = json.readTree(get("/actuator/revisions").body()).get("revisions").get(0);
            assertThat(seen.get("weight").asDouble()).isEqualTo(0.5);
            assertThat(seen.get("pinned").asBoolean()).isTrue();
            assertThat(seen.get("share").asDouble()).isEqualTo(1);
            assertThat(operator("DELETE", revision + "/pin", "Bearer boss")).isEqualTo(204);
            assertThat(operator("DELETE", revision + "/weight", "Bearer boss")).isEqualTo(204);
            assertThat(fleet.revisionViews().getFirst().pinned()).isFalse();

            assertThat(operator("PUT", "/internal/v1/workers/nobody/drain", "Bearer boss")).isEqualTo(404);
            assertThat(operator("PUT", revision + "/weight?value=-1", "Bearer boss")).isEqualTo(400);
            assertThat(operator("PUT", revision + "/weight?value=NaN", "Bearer boss")).isEqualTo(400);
            for (String wrong : new String[] {"", "Bearer hush", "boss"}) {
                assertThat(operator("PUT", drain, wrong)).isEqualTo(401);
            }
            assertThat(operator("PUT", drain, "Bearer boss", "Origin", "http://evil.example")).isEqualTo(403);
            assertThat(fleet.everyone().getFirst().isDraining()).isFalse();
        }
    }

    private int operator(String method, String path, String authorization, String... headers)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri("local.management.port", path))
                .method(method, HttpRequest.BodyPublishers.noBody()).header("Authorization", authorization);
        return send(headers.length == 0 ? request : request.headers(headers)).statusCode();
    }

    @Test
    void a_farewell_removes_that_life_of_a_worker_and_no_other() throws Exception {
        try (var worker = new FakeWorker("w", 7)) {
            post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH);
            for (var another : new Farewell[] {
                new Farewell("w", 6), new Farewell("w", 8), new Farewell("nobody", 7), new Farewell(null, 7)}) {
                assertThat(post(Protocol.FAREWELLS_PATH, another, HUSH).statusCode()).isEqualTo(204);
                assertThat(fleet.snapshot()).hasSize(1);
            }
            assertThat(post(Protocol.FAREWELLS_PATH, new Farewell("w", 7), FleetToken.of("wrong")).statusCode())
                    .isEqualTo(401);
            assertThat(fleet.snapshot()).hasSize(1);

            assertThat(post(Protocol.FAREWELLS_PATH, new Farewell("w", 7), HUSH).statusCode())
                    .isEqualTo(204);
            assertThat(fleet.snapshot()).isEmpty();
        }
    }

    @Test
    void a_missing_or_wrong_token_is_refused() throws Exception {
        for (FleetToken token : List.of(FleetToken.NONE, FleetToken.of("wrong"), FleetToken.of("hush!"))) {
            HttpResponse<String> answer = post(Protocol.REGISTRATIONS_PATH, TestWorkers.registration("w", 1), token);
            assertThat(answer.statusCode()).isEqualTo(401);
            assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
            assertThat(json.readTree(answer.body()).get("reason").asString()).isEqualTo("unauthorized");
        }
    }

    @Test
    void refusals_are_problems_with_status_reason_and_a_sentence() throws Exception {
        assertProblem(post(Protocol.HEARTBEATS_PATH, TestWorkers.idle("nobody", 1), HUSH), 404,
                "unknown_worker", "worker nobody epoch 1 is not registered here");
        assertProblem(post(Protocol.REGISTRATIONS_PATH, TestWorkers.registration("a b", 1), HUSH), 422,
                "invalid", "workerId 'a b' does not match [A-Za-z0-9][A-Za-z0-9._-]{0,255}");
        var otherVersion = json.writeValueAsString(TestWorkers.registration("w", 1))
                .replace("\"protocolVersion\":" + Protocol.VERSION, "\"protocolVersion\":999");
        assertProblem(postText(Protocol.REGISTRATIONS_PATH, otherVersion, HUSH), 409, "protocol_version",
                "worker speaks protocol version 999, this router " + Protocol.VERSION);
    }

    @Test
    void a_body_that_is_no_registration_is_invalid() throws Exception {
        for (String body : new String[] {"", "null", "[]", "{", "{\"protocolVersion\":1}", "{\"epoch\":\"x\"}",
            "{\"protocolVersion\":1,\"baseUrl\":\"http://[\"}", " ".repeat(300_000)}) {
            HttpResponse<String> answer = postText(Protocol.REGISTRATIONS_PATH, body, HUSH);
            assertThat(answer.statusCode()).as(body.strip()).isIn(409, 422);
            assertThat(json.readTree(answer.body()).get("reason").asString()).isIn("invalid", "protocol_version");
        }
    }

    @Test
    void a_body_is_read_up_to_256_kib_and_no_further() throws Exception {
        String heartbeat = json.writeValueAsString(TestWorkers.idle("nobody", 1));
        String longest = heartbeat + " ".repeat(262_144 - heartbeat.length());

        assertThat(postText(Protocol.HEARTBEATS_PATH, longest, HUSH).statusCode()).as("unknown worker").isEqualTo(404);
        HttpResponse<String> refusal = postText(Protocol.HEARTBEATS_PATH, longest + " ", HUSH);
        assertThat(refusal.statusCode()).isEqualTo(422);
        assertThat(refusal.body()).contains("body is no heartbeat", "262144");
    }

    @Test
    void what_a_web_page_can_send_is_refused() throws Exception {
        HttpRequest.Builder register = HttpRequest.newBuilder(
                        uri("local.management.port", Protocol.REGISTRATIONS_PATH))
                .header("Authorization", RequestProof.of(HUSH, challenge(), SENDER, number.incrementAndGet(),
                        Protocol.REGISTRATIONS_PATH, json.writeValueAsBytes(TestWorkers.registration("w", 1))))
                .POST(HttpRequest.BodyPublishers.ofString(json.writeValueAsString(TestWorkers.registration("w", 1))));

        assertProblem(send(register.copy().header("Content-Type", "text/plain")), 415, "invalid",
                "the content type must be application/json");
        assertProblem(send(register.copy().header("Content-Type", "application/;json")), 415, "invalid",
                "the content type must be application/json");
        assertProblem(send(register.copy()), 415, "invalid", "the content type must be application/json");
        assertProblem(send(register.copy().header("Content-Type", "application/json").header("Origin", "null")), 403,
                "unauthorized", "the request comes from a web page: it has an Origin header");
        assertThat(fleet.snapshot()).isEmpty();
    }

    @Test
    void heartbeats_are_heard_while_every_event_loop_of_the_public_port_is_busy() throws Exception {
        var free = new CountDownLatch(1);
        try (var worker = new FakeWorker("w", 7)) {
            post(Protocol.REGISTRATIONS_PATH, worker.registration(), HUSH);
            for (EventExecutor loop : publicLoops()) {
                var busy = new CountDownLatch(1);
                loop.execute(() -> {
                    busy.countDown();
                    awaitQuietly(free);
                });
                busy.await();
            }
            HttpRequest request = HttpRequest.newBuilder(uri("local.server.port", "/"))
                    .timeout(Duration.ofMillis(200)).build();
            assertThatThrownBy(() -> http.send(request, HttpResponse.BodyHandlers.ofString()))
                    .isInstanceOf(HttpTimeoutException.class);

            assertThat(post(Protocol.HEARTBEATS_PATH, TestWorkers.idle("w", 7), HUSH).statusCode())
                    .isEqualTo(204);
            assertThat(get("/actuator/workers").statusCode()).isEqualTo(200);
        } finally {
            free.countDown();
        }
    }

    /** The global ones, too: a test's public port has loops of its own, and production's runs on those. */
    private List<EventExecutor> publicLoops() {
        List<EventExecutor> loops = new ArrayList<>();
        publicPort.getLoopResources().onServer(LoopResources.DEFAULT_NATIVE).forEach(loops::add);
        HttpResources.get().onServer(LoopResources.DEFAULT_NATIVE).forEach(loops::add);
        return loops;
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void the_public_port_knows_nothing_of_it() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(uri("local.server.port", Protocol.REGISTRATIONS_PATH))
                .POST(HttpRequest.BodyPublishers.ofString("{}")).build();

        assertThat(http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode()).isEqualTo(404);
    }

    private void assertProblem(HttpResponse<String> answer, int status, String reason, String detail) {
        JsonNode problem = json.readTree(answer.body());
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(problem.get("status").asInt()).isEqualTo(status);
        assertThat(problem.get("reason").asString()).isEqualTo(reason);
        assertThat(problem.get("detail").asString()).isEqualTo(detail);
    }

    /** Whoever took the router's address for a while has what workers sent there; here it counts once, or never. */
    @Test
    void what_a_worker_has_said_is_not_heard_again_nor_about_anything_else() throws Exception {
        String body = json.writeValueAsString(TestWorkers.idle("nobody", 1));
        String said = RequestProof.of(HUSH, challenge(), SENDER, number.incrementAndGet(), Protocol.HEARTBEATS_PATH,
                body.getBytes(StandardCharsets.UTF_8));

        assertThat(postText(Protocol.FAREWELLS_PATH, body, said).statusCode()).isEqualTo(401);
        assertThat(postText(Protocol.HEARTBEATS_PATH, body + " ", said).statusCode()).isEqualTo(401);
        assertThat(postText(Protocol.HEARTBEATS_PATH, body, said).statusCode()).isEqualTo(404);
        assertThat(postText(Protocol.HEARTBEATS_PATH, body, said).statusCode()).isEqualTo(401);
        assertThat(postText(Protocol.HEARTBEATS_PATH, body, RequestProof.of(HUSH, "0".repeat(32), SENDER,
                number.incrementAndGet(), Protocol.HEARTBEATS_PATH, body.getBytes(StandardCharsets.UTF_8)))
                .statusCode()).isEqualTo(401);
        assertProblem(postText(Protocol.HEARTBEATS_PATH, body, "Bearer hush"), 409, "protocol_version",
                "the worker sends the fleet's token itself, as protocol version 1 did; this router speaks version "
                        + Protocol.VERSION);
    }

    private String challenge() throws IOException, InterruptedException {
        return postText(Protocol.HEARTBEATS_PATH, "", (String) null).headers()
                .firstValue(RequestProof.CHALLENGE_HEADER).orElseThrow();
    }

    /** Signed as a worker signs it. */
    private HttpResponse<String> postText(String path, String body, FleetToken token)
            throws IOException, InterruptedException {
        return postText(path, body, token.isNone() ? null : RequestProof.of(token, challenge(), SENDER,
                number.incrementAndGet(), path, body.getBytes(StandardCharsets.UTF_8)));
    }

    private HttpResponse<String> post(String path, Object body, FleetToken token)
            throws IOException, InterruptedException {
        return postText(path, json.writeValueAsString(body), token);
    }

    private HttpResponse<String> postText(String path, String body, String authorization)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri("local.management.port", path))
                .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body));
        if (authorization != null) {
            request.header("Authorization", authorization);
        }
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(uri("local.management.port", path)).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private URI uri(String portProperty, String path) {
        return URI.create("http://127.0.0.1:" + environment.getProperty(portProperty) + path);
    }
}
