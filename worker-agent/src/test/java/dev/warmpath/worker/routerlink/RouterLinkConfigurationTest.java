package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import tools.jackson.databind.json.JsonMapper;

/** The link's wiring in a running worker that has no engine. */
@Timeout(60)
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT, properties = "server.address=127.0.0.1")
class RouterLinkConfigurationTest {

    private static final BlockingQueue<byte[]> registrations = new LinkedBlockingQueue<>();
    private static HttpServer router;
    @TempDir static Path directory;

    @SpringBootApplication
    @EnableConfigurationProperties(RouterLinkProperties.class)
    static class LinkOnly {

        @Bean
        KvEventPublisher kvEventPublisher() {
            return new KvEventPublisher("w", 7);
        }

        @Bean
        ModelFiles modelFiles() throws IOException {
            Files.writeString(directory.resolve("model.safetensors"), "weights");
            return ModelFiles.read(directory, "tiny", HashSettings.ofBlockSize(16), 2_048, 512);
        }

        @Bean
        RoutableWorker routableWorker(ModelFiles files) {
            return new RoutableWorker() {
                @Override
                public Registration registration(URI baseUrl) {
                    return new Registration(Protocol.VERSION, "w", 7, baseUrl, files.description(), 1_000, 8, true);
                }

                @Override
                public WorkerLoad load() {
                    return new WorkerLoad(0, 0, 1_000, 0);
                }
            };
        }
    }

    @DynamicPropertySource
    static void routerAddress(DynamicPropertyRegistry properties) throws IOException {
        router = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        router.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        router.createContext("/", exchange -> {
            try (exchange) {
                if (exchange.getRequestURI().getPath().equals(Protocol.REGISTRATIONS_PATH)) {
                    registrations.add(exchange.getRequestBody().readAllBytes());
                }
                exchange.sendResponseHeaders(204, -1);
            }
        });
        router.start();
        properties.add("warmpath.routerlink.urls", () -> "http://127.0.0.1:" + router.getAddress().getPort());
    }

    @AfterAll
    static void close() {
        router.stop(0);
    }

    @Test
    void a_started_worker_registers_with_its_own_port_and_streams_its_events(
            @Value("${local.server.port}") int port) throws Exception {
        Registration sent = JsonMapper.builder().build().readValue(registrations.take(), Registration.class);
        assertThat(sent.baseUrl()).isEqualTo(URI.create("http://127.0.0.1:" + port));

        HttpResponse<InputStream> events = HttpClient.newHttpClient().send(
                HttpRequest.newBuilder(sent.baseUrl().resolve(Protocol.EVENTS_PATH + "?epoch=7")).build(),
                HttpResponse.BodyHandlers.ofInputStream());
        assertThat(events.statusCode()).isEqualTo(200);
        assertThat(events.body().readNBytes(4)).containsExactly(0, 0, 0, 16);
        events.body().close();
    }
}
