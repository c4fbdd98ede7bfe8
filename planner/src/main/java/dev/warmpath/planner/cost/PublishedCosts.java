package dev.warmpath.planner.cost;

import dev.warmpath.planner.simulation.ServiceModel;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Asks a management port what steps take there: a router tells of its whole fleet by {@code /actuator/workers}, a
 * worker of itself by {@code /actuator/prometheus}.
 */
public final class PublishedCosts {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final int MOST_BYTES = 32 << 20;
    private static final int OK = 200;
    private static final int NOT_FOUND = 404;
    private static final String METER = "warmpath_engine_step_cost_seconds";
    private static final String BLOCKS = "warmpath_kv_blocks";
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private PublishedCosts() {}

    /**
     * @param management {@code http://host:port} of a router's or a worker's management
     * @return of each worker, measured or not
     * @throws CostException if nobody answers there as a router or a worker does
     */
    public static List<WorkerCost> ask(URI management) throws IOException, InterruptedException {
        String base = management.toString().replaceAll("/+$", "");
        try (HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build()) {
            String fleet = get(client, base + "/actuator/workers");
            if (!fleet.isEmpty()) {
                return ofRouter(base, fleet);
            }
            return List.of(ofWorker(base, get(client, base + "/actuator/prometheus")));
        }
    }

    /** @return empty if there is no such page */
    private static String get(HttpClient client, String url) throws IOException, InterruptedException {
        HttpResponse<InputStream> answer;
        try {
            answer = client.send(HttpRequest.newBuilder(URI.create(url)).timeout(PATIENCE).build(),
                    HttpResponse.BodyHandlers.ofInputStream());
        } catch (IllegalArgumentException e) {
            throw new CostException(url, "is no address: " + e.getMessage());
        } catch (IOException e) {
            throw new CostException(url, "nobody answers there (" + e.getClass().getSimpleName() + ")");
        }
        try (InputStream body = answer.body()) {
            if (answer.statusCode() == NOT_FOUND) {
                return "";
            }
            byte[] bytes = body.readNBytes(MOST_BYTES);
            if (answer.statusCode() != OK) {
                throw new CostException(url, "answers " + answer.statusCode() + ": is this a management port?");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private static List<WorkerCost> ofRouter(String base, String text) throws CostException {
        JsonNode list;
        try {
            list = JSON.readTree(text).path("workers");
        } catch (JacksonException e) {
            throw new CostException(base, "its workers are no JSON: " + e.getOriginalMessage());
        }
        List<WorkerCost> costs = new ArrayList<>();
        for (JsonNode each : list) {
            JsonNode cost = each.path("stepCost");
            costs.add(new WorkerCost(each.path("id").asString(""), each.path("revision").asString(""),
                    new ServiceModel(part(cost, "stepMicros"), part(cost, "promptTokenMicros"), 0,
                            part(cost, "rowMicros"), part(cost, "contextTokenNanos")), each.path("blockCount")
                            .asLong(0)));
        }
        if (costs.isEmpty()) {
            throw new CostException(base, "this router has no workers");
        }
        return costs;
    }

    private static double part(JsonNode cost, String name) {
        return cost.path(name).asDouble(Double.NaN);
    }

    private static WorkerCost ofWorker(String base, String text) throws CostException {
        if (!text.contains(METER)) {
            throw new CostException(base, "has neither /actuator/workers nor the meter " + METER
                    + ": is this the management port of a router or of a worker with an engine of its own?");
        }
        double blocks = sample(text, BLOCKS, "");
        return new WorkerCost(base, "", new ServiceModel(micros(text, "step"), micros(text, "prompt_token"), 0,
                micros(text, "row"), 1e3 * micros(text, "context_token")), Double.isFinite(blocks) ? (long) blocks : 0);
    }

    private static double micros(String text, String part) {
        return 1e6 * sample(text, METER, "part=\"" + part + "\"");
    }

    /** Of Prometheus' text format: {@code name{label="value"} number}. @return not a number if there is none */
    private static double sample(String text, String name, String label) {
        return text.lines().filter(line -> line.startsWith(name + '{') || line.startsWith(name + ' '))
                .filter(line -> line.contains(label)).mapToDouble(PublishedCosts::number).findFirst()
                .orElse(Double.NaN);
    }

    private static double number(String line) {
        String[] words = line.substring(Math.max(0, line.indexOf('}') + 1)).strip().split(" ");
        String value = words[line.indexOf('}') < 0 ? 1 : 0];
        try {
            return Double.parseDouble(value);
        } catch (NumberFormatException e) {
            return Double.NaN;
        }
    }
}
