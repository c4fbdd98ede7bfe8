package dev.warmpath.cli.fleet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Routers that answer well, and others. */
class ManagementTest {

    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private final Management management = new Management();
    private final CountDownLatch over = new CountDownLatch(1);
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
    }

    @AfterEach
    void stop() {
        over.countDown();
        management.close();
        server.stop(0);
    }

    private void answer(String path, int status, String body) {
        server.createContext(path, exchange -> {
            try (exchange) {
                byte[] bytes = body.getBytes(UTF_8);
                exchange.sendResponseHeaders(status, bytes.length);
                exchange.getResponseBody().write(bytes);
            }
        });
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    private FleetFile fleet(Path state) throws IOException {
        int management = server.getAddress().getPort();
        Files.writeString(state.resolve("fleet"), "router router 1 1 %1$d http://127.0.0.1:%1$d%n".formatted(
                management - FleetMember.MANAGEMENT_OFFSET) + "worker worker-1 1 1 1 http://127.0.0.1:1\n");
        FleetFile fleet = FleetFile.read(state);
        assertThat(fleet).isNotNull();
        return fleet;
    }

    @Test
    void nonsense_and_errors_are_no_json() {
        answer("/nonsense", 200, "<html>");
        answer("/error", 500, "{}");
        assertThat(Management.within(PATIENCE, management.get(uri("/nonsense"))).json().isMissingNode()).isTrue();
        assertThat(Management.within(PATIENCE, management.get(uri("/error"))).json().isMissingNode()).isTrue();
    }

    @Test
    void an_answer_without_an_end_is_none() {
        server.createContext("/endless", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            OutputStream body = exchange.getResponseBody();
            byte[] megabyte = new byte[1 << 20];
            while (true) {
                body.write(megabyte);
            }
        });
        assertThat(Management.within(PATIENCE, management.get(uri("/endless")))).isNull();
    }

    @Test
    void nobody_there_or_too_late_is_no_answer() {
        server.createContext("/late", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try {
                over.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(Management.within(Duration.ofMillis(50), management.get(uri("/late")))).isNull();
        assertThat(Management.within(PATIENCE, management.get(URI.create("http://127.0.0.1:1/")))).isNull();
    }

    @Test
    void a_worker_is_ready_when_each_router_that_answers_sends_it_requests(@TempDir Path state) throws IOException {
        answer("/actuator/workers", 200, """
                {"workers":[{"id":"worker-1","epoch":7,"state":"ready","problem":null}]}""");
        FleetFile fleet = fleet(state);
        Readiness readiness = Readiness.look(fleet, management);
        assertThat(fleet.members()).allMatch(readiness::isReady);
        assertThat(readiness.epochs("worker-1")).containsExactly(7L);
        assertThat(readiness.hasReadyWorkers("router")).isTrue();
        assertThat(readiness.refusal()).isNull();
    }

    @Test
    void a_worker_whose_files_make_no_tokenizer_will_never_be_ready(@TempDir Path state) throws IOException {
        answer("/actuator/workers", 200, """
                {"workers":[{"id":"worker-1","state":"joining","problem":"its files make no tokenizer: none"}]}""");
        FleetFile fleet = fleet(state);
        Readiness readiness = Readiness.look(fleet, management);
        assertThat(readiness.isReady(fleet.member("worker-1"))).isFalse();
        assertThat(readiness.refusal()).isEqualTo("its files make no tokenizer: none");
    }

    @Test
    void while_no_router_answers_nobody_is_ready(@TempDir Path state) throws IOException {
        answer("/actuator/workers", 200, "{\"workers\":17}");
        Readiness readiness = Readiness.look(fleet(state), management);
        assertThat(fleet(state).members()).noneMatch(readiness::isReady);
    }
}
