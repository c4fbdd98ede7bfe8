package dev.warmpath.cli.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.ProcessTable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A fleet whose processes are this one, and whose router and workers are one server that says what a test wants. */
class FleetDoctorTest {

    @TempDir
    Path state;
    private HttpServer server;
    private Duration clockBehind = Duration.ZERO;
    private String revisionOfSecond = "aaaa";
    private final List<String> found = new ArrayList<>();

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.createContext("/", exchange -> {
            try (exchange) {
                String path = exchange.getRequestURI().getPath();
                byte[] body = body(path).getBytes(UTF_8);
                exchange.sendResponseHeaders(path.equals("/time") ? 404 : 200, body.length);
                exchange.getResponseBody().write(body);
            }
        });
        server.start();
        long self = ProcessHandle.current().pid();
        int port = server.getAddress().getPort() - 1000;
        Files.writeString(state.resolve("fleet"), """
                router router %1$d %2$s %3$d http://127.0.0.1:%3$d
                worker worker-1 %1$d %2$s %3$d http://127.0.0.1:%3$d
                worker worker-2 1 1 %3$d http://127.0.0.1:%3$d
                """.formatted(self, ProcessTable.startedAt(self), port));
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private String body(String path) {
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        return switch (path) {
            case "/time" -> "{\"timestamp\":\"" + Instant.now().minus(clockBehind) + "\",\"status\":404}";
            case "/actuator/info" -> "{\"build\":{\"commit\":\"abc\"}}";
            default -> """
                    {"workers":[{"id":"worker-1","url":"%1$s","model":"tiny","revision":"aaaa","state":"ready"},
                    {"id":"worker-2","url":"%1$s","model":"tiny","revision":"%2$s","state":"ready"}]}
                    """.formatted(url, revisionOfSecond);
        };
    }

    private List<String> look() {
        FleetFile fleet = FleetFile.read(state);
        assertThat(fleet).isNotNull();
        try (var management = new Management()) {
            new FleetDoctor(management, finding -> found.add(finding.line())).look(fleet);
        }
        return found;
    }

    @Test
    void a_worker_that_has_ended_is_missing_and_how_it_comes_back_is_told() {
        assertThat(look()).contains("  missing  worker-2 has ended: ./warmpath logs worker-2 says why, ./warmpath "
                + "restart worker-2 brings it back", "  ok       all workers of tiny have revision aaaa",
                "  ok       all processes are of the same build", "  ok       clocks of 3 processes agree within 2 s");
    }

    @Test
    void two_revisions_are_a_warning() {
        revisionOfSecond = "bbbb";
        assertThat(look()).anySatisfy(line ->
                assertThat(line).startsWith("  warning  workers of tiny have 2 revisions, aaaa, bbbb"));
    }

    @Test
    void a_clock_an_hour_behind_is_told() {
        clockBehind = Duration.ofHours(1);
        assertThat(look()).anySatisfy(line -> assertThat(line)
                .startsWith("  missing  clocks differ from this machine's: router by 3").contains("NTP"));
    }

    @Test
    void redis_is_told_where_it_is_and_never_its_password() throws IOException {
        try (var redis = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RedisDoctor.look("redis://user:secret@127.0.0.1:" + redis.getLocalPort() + "/0", this::add);
        }
        RedisDoctor.look("redis-sentinel://secret@127.0.0.1:1,127.0.0.1:2#master", this::add);
        assertThat(found).hasSize(3).noneMatch(line -> line.contains("secret"));
        assertThat(found.getFirst()).startsWith("  ok       Redis can be reached at 127.0.0.1:");
        assertThat(found.get(1)).startsWith("  missing  nobody answers at 127.0.0.1:1,");
        assertThat(found.getLast()).startsWith("  missing  nobody answers at 127.0.0.1:2,");
    }

    private void add(Finding finding) {
        found.add(finding.line());
    }
}
