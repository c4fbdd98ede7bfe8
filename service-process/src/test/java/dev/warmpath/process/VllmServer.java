package dev.warmpath.process;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A vLLM as a process of its own, on loopback, started as {@code docs/engines.md} says. The environment says what
 * serves a model ({@code WARMPATH_TEST_VLLM}, such as {@code /opt/vllm/bin/vllm serve}, words without blanks) and where
 * SmolLM2-135M-Instruct lies as a folder ({@code WARMPATH_TEST_VLLM_MODEL}). Without these, whoever asks
 * is skipped, aloud.
 *
 * <p>It computes with 32 bits: fewer draws hang on the order in which a batch is added up.
 */
public final class VllmServer implements AutoCloseable {

    public static final String MODEL = "smollm2-135m";
    /** The least that vLLM's attention takes on a CPU. */
    public static final int BLOCK_SIZE = 32;

    /** A model is compiled, and its kernels are. */
    private static final Duration LONGEST_START = Duration.ofMinutes(10);
    private static final Path LOGS = Path.of("target", "vllm-logs");
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private final List<String> command;
    private final int port;
    private @Nullable Process process;

    private VllmServer(List<String> command, int port) {
        this.command = command;
        this.port = port;
    }

    /** Starts one, without waiting. @param usableBlocks that it has for tokens */
    public static VllmServer start(int usableBlocks) {
        int port = freePort();
        List<String> command = new ArrayList<>(List.of(environment("WARMPATH_TEST_VLLM").split(" ")));
        command.add(modelFolder().toString());
        command.addAll(List.of("--served-model-name", MODEL, "--host", "127.0.0.1", "--port", Integer.toString(port),
                "--dtype", "float32", "--max-model-len", "2048", "--enforce-eager", "--enable-prefix-caching",
                "--enable-prompt-tokens-details", "--block-size", Integer.toString(BLOCK_SIZE),
                "--num-gpu-blocks-override", Integer.toString(usableBlocks + 1),       // one of them is never used
                "--kv-events-config", """
                        {"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:%d",\
                        "replay_endpoint":"tcp://*:%d"}""".formatted(freePort(), freePort())));
        var server = new VllmServer(command, port);
        server.restart();
        return server;
    }

    /** What it was started from. */
    public static Path modelFolder() {
        return Path.of(environment("WARMPATH_TEST_VLLM_MODEL"));
    }

    private static String environment(String name) {
        String value = System.getenv(name);
        if (value != null) {
            return value;
        }
        String reason = "LEFT OUT: what needs a real vLLM, which %s would tell".formatted(name);
        System.out.println(reason);
        return abort(reason);
    }

    public URI uri() {
        return URI.create("http://127.0.0.1:" + port);
    }

    /** Once more, as it was. */
    public void restart() {
        try {
            Files.createDirectories(LOGS);
            var builder = new ProcessBuilder(command);
            builder.environment().put("VLLM_CPU_KVCACHE_SPACE", "4");
            process = builder.redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(LOGS.resolve(port + ".log").toFile())).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @return this, when it answers */
    public VllmServer awaitReady() throws InterruptedException {
        long start = System.nanoTime();
        while (!answers()) {
            if (process == null || !process.isAlive()) {
                throw new IllegalStateException("vLLM has ended, its log: "
                        + LOGS.resolve(port + ".log").toAbsolutePath());
            }
            if (System.nanoTime() - start > LONGEST_START.toNanos()) {
                throw new IllegalStateException("vLLM does not answer on port " + port);
            }
            TimeUnit.MILLISECONDS.sleep(200);
        }
        return this;
    }

    private boolean answers() throws InterruptedException {
        try {
            return CLIENT.send(HttpRequest.newBuilder(uri().resolve("/health")).build(), BodyHandlers.discarding())
                    .statusCode() == 200;
        } catch (IOException e) {
            return false;
        }
    }

    /** Ends the process that computes, and not the one that listens, as a fault of its kernels would. */
    public void killCore() {
        processes().stream().filter(each -> !each.equals(process().toHandle())).forEach(ProcessHandle::destroyForcibly);
    }

    /** Ends all of it at once. */
    public void kill() throws InterruptedException {
        processes().forEach(ProcessHandle::destroyForcibly);
        process().waitFor();
    }

    private Process process() {
        if (process == null) {
            throw new IllegalStateException("vLLM has not been started");
        }
        return process;
    }

    private List<ProcessHandle> processes() {
        List<ProcessHandle> all = new ArrayList<>(process().descendants().toList());
        all.add(process().toHandle());
        return all;
    }

    @Override
    public void close() {
        try {
            kill();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Below those that the system gives to clients: it is taken long after it was found free. */
    private static int freePort() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(10_000, 20_000);
            try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (IOException e) {
                // somebody else's
            }
        }
    }
}
