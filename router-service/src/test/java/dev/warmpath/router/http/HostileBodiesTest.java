package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.RouterProcess;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A router of 512 MB of heap, as the launcher starts it, and bodies that as trees would take 30 times their bytes. */
class HostileBodiesTest {

    private static final int MEBIBYTES_16 = 16 << 20;
    private static final List<String> PATHS =
            List.of("/v1/chat/completions", "/v1/completions", "/v1/route", "/tokenize", "/detokenize");

    @Test
    void bodies_of_millions_of_values_are_refused_while_others_are_answered() {
        String messages = body("{\"model\":\"m\",\"messages\":[", "{},", "{}]}");
        String prompts = body("{\"model\":\"m\",\"prompt\":[", "[],", "[]]}");
        String ids = body("{\"model\":\"m\",\"tokens\":[", "1,", "1]}");
        try (var router = new RouterProcess()) {
            // alone each of them is read until there is too much in it
            for (String path : PATHS) {
                String body = path.contains("chat") ? messages : path.equals("/detokenize") ? ids : prompts;
                HttpResponse<String> answer = post(router, path, body).join();
                assertThat(answer.statusCode()).as(path).isEqualTo(400);
                assertThat(answer.body()).as(path).contains("131072 values, names and brackets");
            }
            var answers = new ArrayList<CompletableFuture<HttpResponse<String>>>();
            for (String path : List.of("/v1/chat/completions", "/v1/route", "/tokenize")) {
                answers.add(post(router, path, messages));
                answers.add(post(router, path, prompts));
            }
            CompletableFuture<Void> all = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new));
            do {
                assertThat(RouterProcess.status(router.managementPort(), "/actuator/health/liveness")).isEqualTo(200);
                assertThat(RouterProcess.status(router.port(), "/v1/models")).isEqualTo(200);
            } while (!all.isDone());
            // refused for what is in them, or, where several came at once, for the memory that they would take
            assertThat(answers.stream().map(answer -> answer.join().statusCode()))
                    .allMatch(status -> status == 400 || status == 503);
            assertThat(router.isAlive()).isTrue();
            assertThat(router.log()).noneMatch(line -> line.contains("ERROR") || line.contains("Exception"));
        }
    }

    /** Each would take 7 MB while it is parsed, and 250 MB is what all may take. */
    @Test
    void a_hundred_slow_bodies_cost_the_large_bodies_of_others_nothing() throws IOException {
        var slow = new ArrayList<Socket>();
        try (var router = new RouterProcess("--warmpath.connections.body-idle-timeout=1h")) {
            for (int i = 0; i < 100; i++) {
                var socket = new Socket("127.0.0.1", router.port());
                slow.add(socket);
                socket.getOutputStream().write(("""
                        POST /v1/completions HTTP/1.1\r
                        host: r\r
                        content-type: application/json\r
                        content-length: 100000\r
                        \r
                        {%s""".formatted(" ".repeat(50_000))).getBytes(StandardCharsets.US_ASCII));
            }
            while (!RouterProcess.get(router.managementPort(), "/actuator/prometheus").body()
                    .contains("warmpath_in_flight_requests 100.0")) {
                for (Socket socket : slow) {
                    assertThat(socket.getInputStream().available()).as("bytes of a refusal").isZero();
                }
                RouterProcess.pause();
            }
            String body = "{\"model\":\"m\",\"prompt\":[" + "1,".repeat(50_000) + "1]}";
            for (int i = 0; i < 5; i++) {
                // read and understood: there is no worker
                assertThat(post(router, "/v1/completions", body).join().body()).contains("no_worker_available");
            }
        } finally {
            for (Socket socket : slow) {
                socket.close();
            }
        }
    }

    private static String body(String begin, String element, String end) {
        int count = (MEBIBYTES_16 - begin.length() - end.length()) / element.length();
        return begin + element.repeat(count) + end;
    }

    private static CompletableFuture<HttpResponse<String>> post(RouterProcess router, String path, String body) {
        // a connection each
        return HttpClient.newHttpClient().sendAsync(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + router.port() + path))
                        .header("content-type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body)).build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
