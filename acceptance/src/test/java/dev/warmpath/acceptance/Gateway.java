package dev.warmpath.acceptance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The router as its clients and operators see it: plain HTTP and JSON. Safe for use by several threads. */
final class Gateway {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    private final URI base;
    private final URI management;

    Gateway(URI base, URI management) {
        this.base = base;
        this.management = management;
    }

    /** What a client reads off one whole answer. */
    record Answer(int status, String text, int promptTokens, int cachedTokens, int completionTokens, String worker,
            int predictedCachedTokens, JsonNode body) {}

    /** Completes token ids greedily, past any end-of-sequence token. */
    Answer complete(int[] tokens, int maxTokens) {
        return post("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", tokens, "max_tokens", maxTokens,
                "temperature", 0, "ignore_eos", true));
    }

    Answer complete(String prompt, int maxTokens) {
        return post("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", prompt, "max_tokens", maxTokens,
                "temperature", 0, "ignore_eos", true));
    }

    Answer chat(List<Map<String, String>> messages) {
        return post("/v1/chat/completions",
                Map.of("model", LocalFleet.MODEL, "messages", messages, "temperature", 0, "max_tokens", 64));
    }

    Answer post(String path, Map<String, ?> body) {
        HttpResponse<String> response = send(json(base, path, body));
        JsonNode answer = JSON.readTree(response.body());
        JsonNode choice = answer.path("choices").path(0);
        JsonNode text = choice.has("message") ? choice.path("message").path("content") : choice.path("text");
        JsonNode usage = answer.path("usage");
        return new Answer(response.statusCode(), text.asString(""), usage.path("prompt_tokens").asInt(-1),
                usage.path("prompt_tokens_details").path("cached_tokens").asInt(-1),
                usage.path("completion_tokens").asInt(-1),
                response.headers().firstValue("x-warmpath-worker").orElse(""),
                response.headers().firstValue("x-warmpath-cached-tokens").map(Integer::parseInt).orElse(-1), answer);
    }

    /** The data of every server-sent event of a streamed chat, {@code [DONE]} included. */
    List<String> streamChat(List<Map<String, String>> messages) {
        HttpRequest request = json(base, "/v1/chat/completions", Map.of("model", LocalFleet.MODEL, "messages", messages,
                "temperature", 0, "max_tokens", 64, "stream", true, "stream_options", Map.of("include_usage", true)));
        try (Stream<String> lines = CLIENT.send(request, BodyHandlers.ofLines()).body()) {
            return lines.filter(line -> line.startsWith("data:")).map(line -> line.substring(5).strip()).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the fleet", e);
        }
    }

    /** Only the status of an answer, whatever its body is. */
    int status(String path, Map<String, ?> body) {
        return send(json(base, path, body)).statusCode();
    }

    JsonNode explain(Map<String, ?> body) {
        return JSON.readTree(send(json(base, "/v1/route", body)).body());
    }

    /** Ids of the workers that the router would send requests to; empty while it cannot be reached. */
    List<String> readyWorkers() {
        List<String> ready = new ArrayList<>();
        try {
            for (JsonNode worker : JSON.readTree(send(get(management, "/actuator/workers")).body()).path("workers")) {
                if (worker.path("state").asString("").equalsIgnoreCase("ready")) {
                    ready.add(worker.path("id").asString(""));
                }
            }
        } catch (UncheckedIOException e) {
            return List.of();
        }
        return ready;
    }

    /** The value of a meter's only sample on some process's Prometheus page. */
    static double meter(URI processManagement, String name) {
        String page = send(get(processManagement, "/actuator/prometheus")).body();
        return page.lines()
                .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no meter " + name + " at " + processManagement));
    }

    private static HttpRequest get(URI base, String path) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(TIMEOUT).build();
    }

    private static HttpRequest json(URI base, String path, Map<String, ?> body) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(TIMEOUT).header("content-type", "application/json")
                .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body))).build();
    }

    private static HttpResponse<String> send(HttpRequest request) {
        try {
            return CLIENT.send(request, BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the fleet", e);
        }
    }
}
