package dev.warmpath.cli.fleet;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Who is ready, by all routers that answer; one look at a fleet. */
public final class Readiness {

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final int REDIS_PATIENCE_MILLIS = 2000;
    private static final String NO_TOKENIZER = "its files make no tokenizer: ";

    /** What {@code /actuator/workers} says, by the id of a router that answers. */
    private final Map<String, JsonNode> routers;

    private Readiness(Map<String, JsonNode> routers) {
        this.routers = routers;
    }

    /** Asks all routers at the same time. */
    public static Readiness look(FleetFile fleet, Management management) {
        Map<String, CompletableFuture<HttpResponse<String>>> asked = new LinkedHashMap<>();
        for (FleetMember router : fleet.of(Role.ROUTER)) {
            asked.put(router.id(), management.get(router.management("/actuator/workers")));
        }
        Map<String, JsonNode> routers = new HashMap<>();
        asked.forEach((id, answer) -> {
            Management.Answer said = Management.within(PATIENCE, answer);
            if (said != null && said.json().path("workers").isArray()) {
                routers.put(id, said.json().path("workers"));
            }
        });
        return new Readiness(routers);
    }

    /** A router or Redis is when it answers; a worker, when all routers that answer send requests to it. */
    public boolean isReady(FleetMember member) {
        return switch (member.role()) {
            case REDIS -> answersPing(member);
            case ROUTER -> routers.containsKey(member.id());
            case WORKER -> !routers.isEmpty() && routers.values().stream().allMatch(workers ->
                    workers.valueStream().anyMatch(worker -> worker.path("id").asString("").equals(member.id())
                            && worker.path("state").asString("").equals("ready")));
        };
    }

    /** Whether a router sends requests to anybody. */
    public boolean hasReadyWorkers(String router) {
        return routers.containsKey(router) && routers.get(router).valueStream()
                .anyMatch(worker -> worker.path("state").asString("").equals("ready"));
    }

    /** All workers, as each router knows them. */
    public Map<String, JsonNode> workersByRouter() {
        return Map.copyOf(routers);
    }

    /** @return the lives of a worker that routers know; the same number twice is the same life */
    public List<Long> epochs(String worker) {
        return routers.values().stream().flatMap(JsonNode::valueStream)
                .filter(each -> each.path("id").asString("").equals(worker))
                .map(each -> each.path("epoch").asLong(0)).toList();
    }

    /** @return why no router can ever serve the model; null: nothing is known against it */
    public @Nullable String refusal() {
        return routers.values().stream().flatMap(JsonNode::valueStream)
                .map(worker -> worker.path("problem").asString(""))
                .filter(problem -> problem.contains(NO_TOKENIZER))
                .map(problem -> problem.substring(problem.indexOf(NO_TOKENIZER))).findFirst().orElse(null);
    }

    private static boolean answersPing(FleetMember redis) {
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(redis.url().getHost(), redis.port()), REDIS_PATIENCE_MILLIS);
            socket.setSoTimeout(REDIS_PATIENCE_MILLIS);
            socket.getOutputStream().write("PING\r\n".getBytes(US_ASCII));
            return new String(socket.getInputStream().readNBytes(5), US_ASCII).equals("+PONG");
        } catch (IOException e) {
            return false;
        }
    }
}
