package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Both images, really built, and run as strictly as the chart runs them, on this machine's loopback. */
@Tag("full")                                         // two minutes
class ImagesTest {

    private static final String TAG = "images-test";
    private static final List<String> RESTRICTED = List.of("--network", "host", "--read-only", "--cap-drop=ALL",
            "--security-opt", "no-new-privileges", "--tmpfs", "/tmp:rw,exec,size=64m,mode=1777");
    /** A cache that cannot be used would only make the start slow; this makes it fail. */
    private static final String CACHE_OR_NOTHING = "JDK_JAVA_OPTIONS=-XX:AOTMode=on";
    private static final int ENDED_BY_SIGTERM = 143;

    @TempDir
    Path state;
    private Podman podman;

    @BeforeEach
    void build() throws IOException {
        String missing = Podman.missing();
        if (!missing.isEmpty()) {
            System.err.println(missing);
        }
        assumeTrue(missing.isEmpty(), missing);
        podman = new Podman();
        remove();
        assertThat(podman.buildImages(state, "--tag", TAG))
                .contains("localhost/warmpath-router:" + TAG, "localhost/warmpath-worker:" + TAG);
    }

    @AfterEach
    void clear() {
        if (podman != null) {
            remove();
        }
    }

    private void remove() {
        podman.podman("rm", "--force", "--ignore", "router", "worker");
    }

    @Test
    void both_images_answer_a_chat_from_their_cache_without_any_right_and_end_when_told()
            throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 1);
        run("router", "768m", List.of("SERVER_PORT=" + port, "MANAGEMENT_SERVER_PORT=" + (port + 1000)));
        run("worker", "1536m", List.of("SERVER_PORT=" + (port + 1), "MANAGEMENT_SERVER_PORT=" + (port + 1001),
                "WARMPATH_WORKER_ID=worker-1", "WARMPATH_WORKER_BASEURL=http://127.0.0.1:" + (port + 1),
                "WARMPATH_COMPUTE_BACKEND=vector", "WARMPATH_COMPUTE_THREADS=1",
                "WARMPATH_ROUTERLINK_URLS=http://127.0.0.1:" + (port + 1000)));
        var router = new Gateway(URI.create("http://127.0.0.1:" + port), URI.create("http://127.0.0.1:" + (port + 1000)));
        Await.until("the worker is ready", () -> {
            requireRunning();
            return router.readyWorkers().equals(List.of("worker-1"));
        });

        List<Map<String, String>> question =
                List.of(Map.of("role", "user", "content", "What is a KV cache, and who needs one?"));
        assertThat(router.chat(question).status()).isEqualTo(200);
        assertThat(router.chat(question).cachedTokens()).as("found by the second chat").isEqualTo(16);

        for (String service : List.of("router", "worker")) {
            assertThat(statusOfProcess(service)).contains("Uid:\t65532\t65532\t65532\t65532", "NoNewPrivs:\t1",
                    "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000");
            assertThat(podman.podman("exec", service, "jcmd", "1", "VM.command_line"))
                    .as("C2 compiles, and the JVM's own tools are there").contains("jvm_args:")
                    .doesNotContain("TieredStopAtLevel");
            podman.podman("stop", "--time", "600", service);
            assertThat(inspect(service, "{{.State.ExitCode}} {{.State.OOMKilled}}")).isEqualTo(ENDED_BY_SIGTERM + " false");
        }
    }

    private void run(String service, String memory, List<String> environment) {
        List<String> command = new ArrayList<>(List.of("run", "--detach", "--name", service, "--memory", memory));
        command.addAll(RESTRICTED);
        command.addAll(List.of("--env", CACHE_OR_NOTHING));
        environment.forEach(variable -> command.addAll(List.of("--env", variable)));
        command.add("localhost/warmpath-" + service + ":" + TAG);
        podman.podman(command.toArray(String[]::new));
    }

    private void requireRunning() {
        for (String service : List.of("router", "worker")) {
            if (!inspect(service, "{{.State.Running}}").equals("true")) {
                throw new AssertionError(service + " ended while starting: " + podman.podman("logs", service));
            }
        }
    }

    private String statusOfProcess(String service) throws IOException {
        return Files.readString(Path.of("/proc", inspect(service, "{{.State.Pid}}"), "status"));
    }

    private String inspect(String service, String format) {
        return podman.podman("inspect", "--format", format, service).strip();
    }
}
