package dev.warmpath.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The system's {@code prometheus} as a process of its own, on loopback, set up by {@code docs/prometheus.yml}. */
final class PrometheusProcess implements AutoCloseable {

    private static final Path HOME = Path.of("target", "prometheus").toAbsolutePath();
    private static final Path CONFIGURATION = LocalFleet.ROOT.resolve("docs/prometheus.yml");
    /** As an operator in Kubernetes gives them. */
    static final String NAMESPACE = "serving";
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private final URI base;
    private final Process process;

    /** Values of a series at the steps of a range, in order; those that are no numbers are left out. */
    record Series(Map<String, String> labels, Map<Double, Double> values) {}

    /** Starts it, and returns when it has scraped each of the management ports once. */
    PrometheusProcess(List<URI> routers, List<URI> workers) {
        int port = LocalFleet.freePort();
        base = URI.create("http://127.0.0.1:" + port);
        try {
            Path folder = Files.createDirectories(HOME.resolve(Integer.toString(port)));
            Path configuration = Files.writeString(folder.resolve("prometheus.yml"), configuration(routers, workers));
            process = new ProcessBuilder("prometheus", "--config.file=" + configuration,
                    "--storage.tsdb.path=" + folder.resolve("data"), "--web.listen-address=" + base.getAuthority())
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("prometheus.log").toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Await.until("prometheus has scraped the fleet", () -> {
            if (!process.isAlive()) {
                throw new IllegalStateException("prometheus ended; its log is in " + HOME);
            }
            return isUp(routers.size() + workers.size());
        });
    }

    /** The documented configuration with this fleet's ports, scraping each second. */
    private static String configuration(List<URI> routers, List<URI> workers) throws IOException {
        String documented = Files.readString(CONFIGURATION);
        String own = documented
                .replaceFirst("- targets: \\[.*9080.*].*", targets(routers))
                .replaceFirst("- targets: \\[.*9081.*].*", targets(workers))
                .replaceFirst("scrape_interval: \\w+", "scrape_interval: 1s")
                .replaceFirst("evaluation_interval: \\w+", "evaluation_interval: 1s")
                .replace("- ../", "- " + LocalFleet.ROOT + "/");
        if (own.contains(":908")) {
            throw new IllegalStateException("targets of " + CONFIGURATION + " were not found");
        }
        return own;
    }

    private static String targets(List<URI> processes) {
        return processes.stream().map(process -> "- targets: ['" + process.getAuthority()
                        + "']\n        labels: {namespace: " + NAMESPACE + ", pod: '" + process.getAuthority() + "'}")
                .collect(Collectors.joining("\n      "));
    }

    private boolean isUp(int processes) {
        try {
            double now = System.currentTimeMillis() / 1e3;
            return range("sum(up)", now, now, 1).stream().anyMatch(up -> up.values().containsValue((double) processes));
        } catch (UncheckedIOException e) {
            return false;                                               // it does not listen yet, or reads its files
        }
    }

    /**
     * What a query gives at each step of a time.
     *
     * @param from seconds since the epoch, as {@code to}
     * @throws IllegalArgumentException if Prometheus does not take the query; the message is its own
     */
    List<Series> range(String query, double from, double to, double stepSeconds) {
        JsonNode answer = ask("/api/v1/query_range",
                Map.of("query", query, "start", from, "end", to, "step", stepSeconds));
        List<Series> all = new ArrayList<>();
        for (JsonNode one : answer.path("result")) {
            Map<String, String> labels = new TreeMap<>();
            one.path("metric").properties().forEach(label -> labels.put(label.getKey(), label.getValue().asString()));
            Map<Double, Double> values = new TreeMap<>();
            for (JsonNode sample : one.path("values")) {
                double value = number(sample.path(1).asString());
                if (Double.isFinite(value)) {
                    values.put(sample.path(0).asDouble(), value);
                }
            }
            all.add(new Series(labels, values));
        }
        return all;
    }

    /** The values that a label has in the series of a selector. */
    List<String> labelValues(String selector, String label) {
        return ask("/api/v1/label/" + label + "/values", Map.of("match[]", selector)).valueStream()
                .map(JsonNode::asString).toList();
    }

    private static double number(String text) {
        return switch (text) {
            case "+Inf" -> Double.POSITIVE_INFINITY;
            case "-Inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
    }

    private JsonNode ask(String path, Map<String, ?> parameters) {
        String form = parameters.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + URLEncoder.encode(entry.getValue().toString(), UTF_8))
                .collect(Collectors.joining("&"));
        HttpRequest request = path.contains("/label/")
                ? HttpRequest.newBuilder(base.resolve(path + "?" + form.replace("[]", "%5B%5D"))).build()
                : HttpRequest.newBuilder(base.resolve(path)).header("content-type", "application/x-www-form-urlencoded")
                        .POST(BodyPublishers.ofString(form)).build();
        try {
            HttpResponse<String> response = CLIENT.send(request, BodyHandlers.ofString());
            if (response.statusCode() == 503) {
                throw new IOException("it is not ready: " + response.body());
            }
            JsonNode answer = JSON.readTree(response.body());
            if (!answer.path("status").asString("").equals("success")) {
                throw new IllegalArgumentException(parameters + ": " + answer.path("error").asString(response.body()));
            }
            return answer.path("data");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for prometheus", e);
        }
    }

    @Override
    public void close() {
        process.destroy();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
