package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./warmpath} as a person runs it, with pids and logs in a folder of the test's own. */
class LauncherTest {

    private static final long TIMEOUT_SECONDS = 150;

    @TempDir
    Path state;

    /** What the launcher said, and its exit status. */
    private record Said(int status, String text) {}

    @Test
    void up_returns_when_a_completion_succeeds_status_shows_a_line_per_process_and_down_ends_them_all()
            throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(2);
        try {
            Said up = warmpath("up", "--detach", "--workers", "1", "--port", Integer.toString(port));
            assertThat(up.status()).as(up.text()).isZero();
            var gateway = new Gateway(
                    URI.create("http://127.0.0.1:" + port), URI.create("http://127.0.0.1:" + (port + 1000)));
            assertThat(gateway.complete("Hello", 2).status()).isEqualTo(200);

            Said status = warmpath("status");
            assertThat(status.text()).contains("router", "worker-1", "http://127.0.0.1:" + (port + 1));
            assertThat(status.text().lines().filter(line -> line.endsWith(" ready"))).hasSize(2);

            Said twice = warmpath("up", "--port", Integer.toString(port));
            assertThat(twice.status()).isEqualTo(1);
            assertThat(twice.text()).contains("a fleet is running already");
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
        assertThat(warmpath("status").text()).contains("no fleet is running");
    }

    @Test
    void an_interrupted_up_leaves_no_process_behind() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(2);
        Path output = state.resolve("foreground");
        Process up = launcher(output, "up", "--workers", "1", "--port", Integer.toString(port)).start();
        Await.until(Duration.ofSeconds(TIMEOUT_SECONDS), "the fleet is ready",
                () -> read(output).contains("Ctrl-C stops everything"));
        List<ProcessHandle> started = up.descendants().filter(ProcessHandle::isAlive).toList();
        assertThat(started).as("router, worker and the launcher's own sleep").hasSizeGreaterThanOrEqualTo(2);

        up.destroy();

        assertThat(up.waitFor(40, TimeUnit.SECONDS)).isTrue();
        assertThat(read(output)).contains("stopping ...");
        assertThat(started).noneMatch(ProcessHandle::isAlive);
        assertThat(warmpath("status").text()).contains("no fleet is running");
    }

    @Test
    void a_fleet_that_listens_beyond_this_machine_has_a_token_that_strangers_lack()
            throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(2);
        try {
            Said up = warmpath("up", "--detach", "--workers", "1", "--port", Integer.toString(port), "--host", "0.0.0.0");
            assertThat(up.status()).as(up.text()).isZero();

            var worker = new Gateway(URI.create("http://127.0.0.1:" + (port + 1)), URI.create("http://127.0.0.1:1"));
            assertThat(worker.status("/v1/generate", Map.of("requestId", "stranger"))).isEqualTo(401);
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
    }

    @Test
    void mistakes_are_answered_with_a_sentence() throws IOException, InterruptedException {
        assertThat(warmpath("up", "--workers", "none").text()).contains("--workers takes a number from 1 to 64");
        assertThat(warmpath("up", "--port", "70000").text()).contains("--port takes a number");
        assertThat(warmpath("up", "--model", "nowhere").text()).contains("nowhere is no model directory");
        assertThat(warmpath("up", "--gpu").text()).contains("up does not know '--gpu'");
        assertThat(warmpath("dance")).satisfies(said -> {
            assertThat(said.status()).isEqualTo(1);
            assertThat(said.text()).contains("'dance' is no command", "Usage: ./warmpath COMMAND");
        });
    }

    @Test
    void a_busy_port_is_a_sentence_and_starts_nothing() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(3);
        try (var taken = new ServerSocket(port + 2, 1, InetAddress.getLoopbackAddress())) {
            Said up = warmpath("up", "--detach", "--port", Integer.toString(port));

            assertThat(up.status()).isEqualTo(1);
            assertThat(up.text()).contains("port " + taken.getLocalPort() + " is in use").doesNotContain("starting");
        }
    }

    private Said warmpath(String... arguments) throws IOException, InterruptedException {
        Path output = state.resolve("said");
        Process process = launcher(output, arguments).start();
        assertThat(process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)).as("the launcher returns").isTrue();
        return new Said(process.exitValue(), read(output));
    }

    private ProcessBuilder launcher(Path output, String... arguments) {
        List<String> command = new ArrayList<>(List.of(LocalFleet.ROOT.resolve("warmpath").toString()));
        command.addAll(List.of(arguments));
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("WARMPATH_STATE", state.toString());
        return builder;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
