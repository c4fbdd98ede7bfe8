package dev.warmpath.cli.look;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Both ports of a router in one, with two workers, which says what a test wants. */
final class ScriptedRouter implements AutoCloseable {

    /** Method and path, and the bearer's secret, of all that was asked. */
    final List<String> asked = new CopyOnWriteArrayList<>();
    private final Map<String, Answer> answers = new ConcurrentHashMap<>();
    private final HttpServer server;

    private record Answer(int status, String body) {}

    ScriptedRouter() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
        says("GET /actuator/workers", 200, """
                {"workers":[%s,%s]}""".formatted(worker(10, "draining", 2), worker(2, "ready", 0)));
        says("GET /actuator/prefixindex", 200, """
                {"statistics":{"workers":2,"entries":70,"keys":60,"bytes":4096},
                 "workers":[{"id":"worker-2","grade":"history","behindBatches":3}]}""");
        says("GET /actuator/prometheus", 200, "warmpath_in_flight_requests 2\n");
    }

    /** Its worker's management port is this port, too. */
    private String worker(int number, String state, int running) {
        return """
                {"id":"worker-%d","url":"http://127.0.0.1:%d","model":"tiny","revision":"aa","state":"%s",
                 "problem":null,"health":"healthy","healthProblem":null,"failureShare":0.0,"credit":0.75,"running":%d,
                 "waiting":0,"freeBlocks":75,"blockCount":100,"indexEntries":35,"leaseAgeMillis":400}"""
                .formatted(number, port() - 1_000, state, running);
    }

    void says(String methodAndPath, int status, String body) {
        answers.put(methodAndPath, new Answer(status, body));
    }

    int port() {
        return server.getAddress().getPort();
    }

    String url() {
        return "http://127.0.0.1:" + port();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String what = exchange.getRequestMethod() + " " + exchange.getRequestURI();
            String secret = exchange.getRequestHeaders().getFirst("authorization");
            asked.add(secret == null ? what : what + " " + secret);
            exchange.getRequestBody().readAllBytes();
            Answer answer = answers.getOrDefault(what, new Answer(404, "{\"detail\":\"this path is not served\"}"));
            byte[] body = answer.body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(answer.status, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
