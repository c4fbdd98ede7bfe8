package dev.warmpath.acceptance;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.Protocol;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The router as its clients and operators see it: plain HTTP and JSON. Safe for use by several threads. */
final class Gateway {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(Await.PATIENCE).build();

    private final URI base;
    private final URI management;
    private final HttpClient.Version version;

    Gateway(URI base, URI management) {
        this(base, management, HttpClient.Version.HTTP_2);
    }

    /** Any server of the same API. @param version by which it is asked: not all take the question for a newer one */
    Gateway(URI base, URI management, HttpClient.Version version) {
        this.base = base;
        this.management = management;
        this.version = version;
    }

    /** What a client reads off one whole answer. */
    record Answer(int status, String text, int promptTokens, int cachedTokens, int completionTokens, String worker,
            int predictedCachedTokens, JsonNode body) {}

    /** Of the public API. */
    URI uri(String path) {
        return base.resolve(path);
    }

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
        HttpResponse<String> response = send(json(path, body));
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
        return stream("/v1/chat/completions", Map.of("model", LocalFleet.MODEL, "messages", messages,
                "temperature", 0, "max_tokens", 64, "stream", true, "stream_options", Map.of("include_usage", true)),
                _ -> { });
    }

    /** The same of any streamed request. @param onData hears of each event as it comes */
    List<String> stream(String path, Map<String, ?> body, Consumer<String> onData) {
        HttpRequest request = json(path, body);
        try (Stream<String> lines = CLIENT.send(request, BodyHandlers.ofLines()).body()) {
            return lines.filter(line -> line.startsWith("data:")).map(line -> line.substring(5).strip()).peek(onData)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the fleet", e);
        }
    }

    /** Only the status of an answer, whatever its body is. */
    int status(String path, Map<String, ?> body) {
        return send(json(path, body)).statusCode();
    }

    /** Token ids of a text, none added. */
    int[] tokenize(String text) {
        JsonNode tokens = JSON.readTree(send(json("/tokenize",
                Map.of("model", LocalFleet.MODEL, "prompt", text, "add_special_tokens", false))).body()).path("tokens");
        return tokens.valueStream().mapToInt(JsonNode::asInt).toArray();
    }

    JsonNode explain(Map<String, ?> body) {
        return JSON.readTree(send(json("/v1/route", body)).body());
    }

    /** True if the router is there; else it knows no worker either. */
    boolean answers() {
        return management("/actuator/workers").has("workers");
    }

    /** Ids of the workers that the router would send requests to; empty while it cannot be reached. */
    List<String> readyWorkers() {
        return management("/actuator/workers").path("workers").valueStream()
                .filter(worker -> worker.path("state").asString("").equalsIgnoreCase("ready"))
                .map(worker -> worker.path("id").asString(""))
                .toList();
    }

    /** Whether every worker had nothing to do when this router heard of it last, which is up to a second ago. */
    boolean hearsOfIdleWorkersOnly() {
        return management("/actuator/workers").path("workers").valueStream()
                .allMatch(worker -> worker.path("running").asInt(-1) == 0 && worker.path("waiting").asInt(-1) == 0);
    }

    /** The router's last decisions with all that they were weighed by, the newest first, for the message of a test. */
    String lastDecisions(int limit) {
        return management("/actuator/decisions?limit=" + limit).toPrettyString();
    }

    /** A worker's set of block keys, by size and digest, after the batch with this number. */
    record AnnouncedSet(int size, long digest, long sequence) {}

    /** What this router's index has of each worker; empty while the router cannot be reached. */
    Map<String, AnnouncedSet> indexCopies() {
        Map<String, AnnouncedSet> copies = new TreeMap<>();
        for (JsonNode worker : management("/actuator/prefixindex").path("workers")) {
            copies.put(worker.path("id").asString(""), new AnnouncedSet(worker.path("entries").asInt(-1),
                    HexFormat.fromHexDigitsToLong(worker.path("setDigest").asString("0")),
                    worker.path("sequence").asLong(-1)));
        }
        return copies;
    }

    /** What the workers of this router's fleet say themselves: each one's snapshot, read as a router does it. */
    Map<String, AnnouncedSet> trueSets() {
        Map<String, AnnouncedSet> sets = new TreeMap<>();
        for (JsonNode worker : management("/actuator/workers").path("workers")) {
            KvEventBatch snapshot = snapshot(worker);
            sets.put(snapshot.workerId(),
                    new AnnouncedSet(snapshot.setSize(), snapshot.setDigest(), snapshot.sequence()));
        }
        return sets;
    }

    private static KvEventBatch snapshot(JsonNode worker) {
        HttpRequest request = get(URI.create(worker.path("url").asString("")),
                Protocol.EVENTS_PATH + "?" + Protocol.EPOCH_PARAMETER + "=" + worker.path("epoch").asLong(0));
        int limit = EventFrames.maxPayloadBytes(worker.path("blockCount").asInt(0));
        try (var in = new DataInputStream(CLIENT.send(request, BodyHandlers.ofInputStream()).body())) {
            return KvEventCodec.decode(EventFrames.read(in, limit));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the fleet", e);
        }
    }

    /** The details that a process's health says of one of its parts. */
    static JsonNode health(URI processManagement, String part) {
        return JSON.readTree(send(get(processManagement, "/actuator/health")).body())
                .path("components").path(part).path("details");
    }

    /** What this router's health says of Redis. */
    JsonNode redisHealth() {
        return health(management, "redis");
    }

    /** True if this router follows all its workers by the log in Redis. */
    boolean followsByRedis() {
        JsonNode redis = redisHealth();
        return redis.path("followedByLog").asInt(0) > 0 && redis.path("followedDirectly").asInt(-1) == 0
                && !redis.has("degraded");
    }

    /** Where this router reaches a worker; empty if it does not know it. */
    String urlOf(String workerId) {
        return management("/actuator/workers").path("workers").valueStream()
                .filter(worker -> worker.path("id").asString("").equals(workerId))
                .map(worker -> worker.path("url").asString(""))
                .findFirst().orElse("");
    }

    private JsonNode management(String path) {
        try {
            return JSON.readTree(send(get(management, path)).body());
        } catch (UncheckedIOException e) {
            return JSON.createObjectNode();
        }
    }

    /** A sample on this router's Prometheus page, by name and labels. */
    double meter(String sample) {
        return meter(management, sample);
    }

    /** Of a line of such a page. */
    static double value(String line) {
        return Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
    }

    /** The value of a meter's only sample on some process's Prometheus page. */
    static double meter(URI processManagement, String name) {
        return meters(processManagement)
                .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
                .mapToDouble(Gateway::value)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no meter " + name + " at " + processManagement));
    }

    /** The lines of some process's Prometheus page. */
    static Stream<String> meters(URI processManagement) {
        return send(get(processManagement, "/actuator/prometheus")).body().lines();
    }

    private static HttpRequest get(URI base, String path) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(Await.PATIENCE).build();
    }

    private HttpRequest json(String path, Map<String, ?> body) {
        return HttpRequest.newBuilder(base.resolve(path)).version(version).timeout(Await.PATIENCE)
                .header("content-type", "application/json")
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
