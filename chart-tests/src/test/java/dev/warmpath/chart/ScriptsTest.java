package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The two scripts that pods of the chart run, run by this machine's shell against a server on loopback. */
class ScriptsTest {

    private static final String MODEL = "weights";
    // printf weights | sha256sum
    private static final String SUM = "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c";

    @TempDir
    Path directory;

    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final AtomicInteger chats = new AtomicInteger();
    private final Map<String, String> bodies = new ConcurrentHashMap<>();
    private String redirectedPath = "";
    private Runnable beforeAnswer = () -> {};
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    /** Files, from where a range begins; a router whose third chat finds cached tokens. */
    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String range = exchange.getRequestHeaders().getFirst("Range");
        String token = exchange.getRequestHeaders().getFirst("Authorization");
        requests.add(path + (range == null ? "" : " " + range) + (token == null ? "" : " " + token));
        String body = bodies.getOrDefault(path, "");
        int from = range == null ? 0 : Integer.parseInt(range.replaceAll("\\D", ""));
        if (path.equals("/v1/chat/completions")) {
            exchange.getRequestBody().readAllBytes();
            body = body.replace("CACHED", chats.incrementAndGet() < 3 ? "0" : "16");
        }
        if (path.equals(redirectedPath)) {
            exchange.getResponseHeaders().set("Location", "http://localhost:" + server.getAddress().getPort() + "/w");
            exchange.sendResponseHeaders(302, -1);
            exchange.close();
            return;
        }
        if (range != null && from >= body.length()) {
            exchange.sendResponseHeaders(416, -1);
            exchange.close();
            return;
        }
        beforeAnswer.run();
        byte[] bytes = body.substring(from).getBytes(StandardCharsets.UTF_8);
        if (range != null) {
            String part = "bytes %d-%d/%d".formatted(from, body.length() - 1, body.length());
            exchange.getResponseHeaders().set("Content-Range", part);
        }
        exchange.sendResponseHeaders(range == null ? 200 : 206, bytes.length);
        try (exchange) {
            exchange.getResponseBody().write(bytes);
        }
    }

    @Test
    void a_file_comes_once_with_the_token_and_is_not_fetched_again() throws Exception {
        bodies.put("/w", MODEL);

        assertThat(download("sub/w " + url("/w"), SUM)).isZero();
        assertThat(directory.resolve("model/sub/w")).hasContent(MODEL);
        assertThat(download("sub/w " + url("/w"), SUM)).isZero();

        assertThat(requests).containsExactly("/w Bearer secret");
    }

    @Test
    void what_broke_off_goes_on_where_it_was() throws Exception {
        bodies.put("/w", MODEL);
        Files.createDirectories(directory.resolve("model"));
        Files.writeString(directory.resolve("model/w.part"), "wei");

        assertThat(download("w " + url("/w"), SUM)).isZero();

        assertThat(directory.resolve("model/w")).hasContent(MODEL);
        assertThat(requests).containsExactly("/w bytes=3- Bearer secret");
    }

    @Test
    void what_there_was_of_another_file_is_given_up_and_the_whole_file_fetched() throws Exception {
        bodies.put("/w", MODEL);
        Files.createDirectories(directory.resolve("model"));
        for (String before : List.of("wai", "something longer")) {
            Files.deleteIfExists(directory.resolve("model/w"));
            Files.writeString(directory.resolve("model/w.part"), before);

            assertThat(download("w " + url("/w"), SUM)).as(before).isZero();
            assertThat(directory.resolve("model/w")).hasContent(MODEL);
        }

        assertThat(requests).containsExactly("/w bytes=3- Bearer secret", "/w Bearer secret",
                "/w bytes=16- Bearer secret", "/w Bearer secret");
    }

    @Test
    void the_token_is_not_sent_on_to_another_host() throws Exception {
        bodies.put("/w", MODEL);
        redirectedPath = "/elsewhere";

        assertThat(download("w " + url("/elsewhere"), SUM)).isZero();

        assertThat(directory.resolve("model/w")).hasContent(MODEL);
        assertThat(requests).containsExactly("/elsewhere Bearer secret", "/w");
    }

    @Test
    void of_two_pods_that_share_a_folder_one_fetches_and_the_other_waits() throws Exception {
        bodies.put("/w", MODEL);
        var other = new AtomicReference<Process>();
        Path said = directory.resolve("said-by-the-other");
        // the other one comes while the first is at it, and its answer is held back until the other one waits
        beforeAnswer = () -> {
            try {
                other.set(downloader("w " + url("/w"), SUM, "pod-2", said).start());
                while (!Files.exists(said) || !Files.readString(said).contains("w is fetched by pod-1")) {
                    assertThat(other.get().isAlive()).isTrue();
                    Thread.sleep(10);
                }
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };

        assertThat(download("w " + url("/w"), SUM)).isZero();
        assertThat(other.get().waitFor()).isZero();

        assertThat(requests).containsExactly("/w Bearer secret");
        assertThat(said).content().endsWith("w is there\n");
        try (var left = Files.list(directory.resolve("model"))) {
            assertThat(left).containsExactly(directory.resolve("model/w"));
        }
    }

    @Test
    void nobody_waits_for_a_pod_that_is_gone_or_for_an_earlier_container_of_its_own() throws Exception {
        bodies.put("/w", MODEL);
        Path lock = directory.resolve("model/w.lock");
        for (String owner : List.of("pod-0", "pod-1")) {
            Files.createDirectories(lock);
            Files.writeString(lock.resolve("owner"), owner + "\n");
            boolean isOwn = owner.equals("pod-1");
            Files.setLastModifiedTime(lock, FileTime.from(Instant.now().minus(Duration.ofMinutes(isOwn ? 0 : 10))));

            assertThat(download("w " + url("/w"), SUM)).as(owner).isZero();
            assertThat(directory.resolve("model/w")).hasContent(MODEL);
            assertThat(lock).doesNotExist();
            Files.delete(directory.resolve("model/w"));
        }
    }

    @Test
    void a_file_with_another_checksum_ends_the_pod_and_leaves_nothing() throws Exception {
        bodies.put("/w", "other");

        assertThat(download("w " + url("/w"), SUM)).isNotZero();

        try (var left = Files.list(directory.resolve("model"))) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void the_test_ends_well_when_a_repeated_chat_finds_cached_tokens() throws Exception {
        bodies.put("/v1/models", "{\"data\":[{\"id\":\"tiny\"}]}");
        bodies.put("/v1/chat/completions", "{\"finish_reason\":\"length\",\"prompt_tokens_details\":{\"cached_tokens\":CACHED}}");

        assertThat(test("tiny")).isZero();

        assertThat(requests).containsExactly("/v1/models Bearer wp-key", "/v1/chat/completions Bearer wp-key",
                "/v1/chat/completions Bearer wp-key", "/v1/chat/completions Bearer wp-key");
    }

    @Test
    void the_test_fails_without_the_model_or_an_answer() throws Exception {
        bodies.put("/v1/models", "{\"data\":[{\"id\":\"tiny\"}]}");
        bodies.put("/v1/chat/completions", "{\"error\":{}}");

        assertThat(test("other")).isNotZero();
        assertThat(test("tiny")).isNotZero();
    }

    private int download(String file, String sum) throws Exception {
        assumeTrue(isInstalled("curl"), "there is no curl, which this script runs");
        return downloader(file, sum, "pod-1", directory.resolve("output")).start().waitFor();
    }

    private ProcessBuilder downloader(String file, String sum, String pod, Path output) throws IOException {
        return script("download-model.sh", output, Map.of("MODEL_DIRECTORY", directory.resolve("model").toString(),
                "MODEL_FILES", sum + " " + file + "\n", "MODEL_TOKEN", "secret", "HOSTNAME", pod,
                "MODEL_WAIT_SECONDS", "0.1"));
    }

    private int test(String model) throws Exception {
        assumeTrue(isInstalled("wget"), "there is no wget, which this script runs");
        return script("test.sh", directory.resolve("output"),
                Map.of("ROUTER", url(""), "API_KEY", "wp-key", "MODEL", model, "TMPDIR", directory.toString())).start().waitFor();
    }

    private static boolean isInstalled(String command) throws Exception {
        return new ProcessBuilder("sh", "-c", "command -v " + command).start().waitFor() == 0;
    }

    private String url(String path) {
        return "http://127.0.0.1:" + server.getAddress().getPort() + path;
    }

    private static ProcessBuilder script(String script, Path output, Map<String, String> environment)
            throws IOException {
        var process = new ProcessBuilder("sh", "-c", Files.readString(Chart.DIRECTORY.resolve("files").resolve(script)))
                .redirectErrorStream(true).redirectOutput(output.toFile());
        process.environment().putAll(environment);
        return process;
    }
}
