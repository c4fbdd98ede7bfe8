package dev.warmpath.chart;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * As much of an API server as Helm asks when a template looks a Secret or a Deployment up: that there are such, and
 * which. It listens on loopback until the process ends, and is what {@code KUBECONFIG} names.
 */
final class ApiServer {

    private static final String SECRETS = "/api/v1/namespaces/" + Chart.NAMESPACE + "/secrets/";
    private static final String DEPLOYMENTS = "/apis/apps/v1/namespaces/" + Chart.NAMESPACE + "/deployments/";

    private final Map<String, Map<String, String>> secrets = new ConcurrentHashMap<>();
    private final Map<String, Integer> replicas = new ConcurrentHashMap<>();

    private ApiServer() {}

    /** @throws IllegalStateException if Helm would ask another cluster */
    static ApiServer start() {
        String kubeconfig = System.getenv("KUBECONFIG");
        if (kubeconfig == null || !kubeconfig.endsWith("chart-tests/target/kubeconfig")) {
            throw new IllegalStateException(
                    "KUBECONFIG is " + kubeconfig + ", and Helm would ask that cluster: run these tests by Maven, or"
                            + " set it to …/chart-tests/target/kubeconfig as chart-tests/pom.xml"
                            + " does");
        }
        ApiServer store = new ApiServer();
        try {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", store::answer);
            server.setExecutor(command -> Thread.ofVirtual().start(command));
            server.start();
            Files.writeString(
                    Path.of(kubeconfig), """
                        {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                         "clusters": [{"name": "test", "cluster": {"server": "http://127.0.0.1:%d"}}],
                         "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                         "users": [{"name": "test", "user": {}}]}
                        """.formatted(server.getAddress().getPort()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return store;
    }

    /**
     * Only these are there from now on.
     *
     * @param keptSecrets by name, their data in plain text
     * @param keptReplicas of Deployments, by name
     */
    void keep(Map<String, Map<String, String>> keptSecrets, Map<String, Integer> keptReplicas) {
        secrets.clear();
        secrets.putAll(keptSecrets);
        replicas.clear();
        replicas.putAll(keptReplicas);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (path.equals("/api/v1")) {
            send(exchange, 200, resource("v1", "secret", "Secret"));
        } else if (path.equals("/apis/apps/v1")) {
            send(exchange, 200, resource("apps/v1", "deployment", "Deployment"));
        } else if (path.startsWith(DEPLOYMENTS) && replicas.containsKey(path.substring(DEPLOYMENTS.length()))) {
            String name = path.substring(DEPLOYMENTS.length());
            send(exchange, 200, """
                {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "%s", "namespace": "%s"},
                 "spec": {"replicas": %d}}\
                """.formatted(name, Chart.NAMESPACE, replicas.get(name)));
        } else if (path.startsWith(SECRETS) && secrets.containsKey(path.substring(SECRETS.length()))) {
            String name = path.substring(SECRETS.length());
            send(exchange, 200, """
                {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "%s", "namespace": "%s"}, "data": {%s}}\
                """.formatted(name, Chart.NAMESPACE, data(secrets.get(name))));
        } else {
            send(exchange, 404, """
                {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}\
                """);
        }
    }

    private static String resource(String group, String name, String kind) {
        return """
            {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "%s", "resources": [{"name": "%ss",
             "singularName": "%s", "namespaced": true, "kind": "%s", "verbs": ["get"]}]}\
            """.formatted(group, name, name, kind);
    }

    private static String data(Map<String, String> plain) {
        return plain.entrySet().stream()
                .map(entry -> "\"" + entry.getKey() + "\": \""
                        + Base64.getEncoder().encodeToString(entry.getValue().getBytes(StandardCharsets.UTF_8)) + "\"")
                .collect(Collectors.joining(", "));
    }

    private static void send(HttpExchange exchange, int status, String json) throws IOException {
        byte[] body = json.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length);
        try (exchange) {
            exchange.getResponseBody().write(body);
        }
    }
}
