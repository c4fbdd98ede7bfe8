package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Workers that are held and stepped by hand through a router with the deadlines that it has by default. */
@Tag("full")
class HeldFleetFullTest {

    private static final int WORKERS = 2;
    /** One a second: more than the three seconds that a silent worker with a known pace is waited for. */
    private static final int HEARTBEATS = 8;

    private final HttpClient http = HttpClient.newHttpClient();
    private final JsonMapper json = JsonMapper.shared();

    @Test
    void a_request_waits_for_the_worker_that_somebody_holds_and_gets_its_answer_step_by_step() throws Exception {
        List<String> settings = List.of(LocalFleet.LONG_LEASE, LocalFleet.LONG_WAIT);
        try (var fleet = LocalFleet.start(1, WORKERS, settings, List.of())) {
            Gateway gateway = fleet.gateway();
            for (int i = 0; i < 12; i++) {                         // now the pace of both is known
                gateway.complete(prompt(i), 2);
            }
            URI router = fleet.routerManagement(1);
            hold(router);
            Await.until("the router has heard of both holds", () -> workers(router).valueStream()
                    .allMatch(worker -> worker.path("held").asBoolean()));

            var answer = CompletableFuture.supplyAsync(() -> gateway.complete(prompt(100), 3));
            for (int heartbeats = 0; heartbeats < HEARTBEATS; heartbeats++) {
                awaitHeartbeat(router);
                hold(router);                                      // a hold ends after a minute
            }
            assertThat(answer).as("nobody computes").isNotDone();
            assertThat(waiting(router)).as("it waits at one worker only").isEqualTo(1);
            while (!answer.isDone()) {
                for (int worker = 1; worker <= WORKERS; worker++) {
                    ask(router, "POST", "/live/workers/" + LocalFleet.workerId(worker) + "/step");
                }
            }

            Answer told = answer.get();
            assertThat(told.status()).isEqualTo(200);
            assertThat(told.completionTokens()).isEqualTo(3);
            assertThat(workers(router).valueStream()
                    .mapToDouble(worker -> worker.path("failureShare").asDouble()).sum())
                    .as("nobody has failed").isZero();
        }
    }

    /** Of the model's ordinary tokens; no two begin alike. */
    private static int[] prompt(int number) {
        return IntStream.range(0, 40).map(i -> 1 + (number * 40 + i) % 2_000).toArray();
    }

    private void hold(URI router) throws Exception {
        for (int worker = 1; worker <= WORKERS; worker++) {
            ask(router, "PUT", "/live/workers/" + LocalFleet.workerId(worker) + "/hold");
        }
    }

    private void awaitHeartbeat(URI router) {
        long before = leaseAge(router);
        Await.until("the next heartbeat", () -> leaseAge(router) < before);
    }

    private long leaseAge(URI router) {
        return workers(router).path(0).path("leaseAgeMillis").asLong();
    }

    private int waiting(URI router) {
        return workers(router).valueStream()
                .mapToInt(worker -> worker.path("running").asInt() + worker.path("waiting").asInt()).sum();
    }

    private JsonNode workers(URI router) {
        try {
            return json.readTree(ask(router, "GET", "/actuator/workers")).path("workers");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private String ask(URI router, String method, String path) throws Exception {
        HttpResponse<String> answer = http.send(HttpRequest.newBuilder(router.resolve(path))
                .header("x-warmpath-page", "1").method(method, HttpRequest.BodyPublishers.noBody()).build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(method + " " + path + ": " + answer.body()).isBetween(200, 299);
        return answer.body();
    }
}
