package dev.warmpath.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./warmpath} in a real terminal, as somebody sees it who sits there: util-linux's {@code script} holds one. */
class TerminalTest {

    private static final String CTRL_C = "\3";
    /** How a line that moves is drawn over. */
    private static final String CLEAR = "\r\033[K";
    private static final int ENDED_BY_SIGINT = 130;

    @TempDir
    Path state;

    @BeforeAll
    static void requireScript() {
        boolean isThere = Command.isInstalled("script")
                && Command.run(Map.of(), List.of("script", "--version")).contains("util-linux");
        if (!isThere) {
            System.err.println("terminals are not tested here: missing is util-linux's script");
        }
        assumeTrue(isThere);
    }

    @Test
    void a_killed_worker_is_told_restart_brings_it_back_and_ctrl_c_stops_everything()
            throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 2);
        Process terminal = terminal("up --workers 2 --port " + port);
        try {
            Await.until("the fleet is ready", () -> {
                assertThat(terminal.isAlive()).as(screen()).isTrue();
                return screen().contains("Ctrl-C stops everything.");
            });
            assertThat(screen()).as("a line moves meanwhile")
                    .contains(CLEAR + "| 0 s  waiting for router worker-1 worker-2").contains(" 1 s  waiting for ");

            long worker = pid("worker-2");
            assertThat(ProcessHandle.of(worker).orElseThrow().destroyForcibly()).isTrue();
            Await.until("its end is told", () -> screen().contains("worker-2 ended; its log is "));
            assertThat(warmpath(1, "doctor")).contains("  missing  worker-2 has ended");

            assertThat(warmpath(0, "restart", "worker-2")).contains("worker-2 is ready again after ");
            assertThat(warmpath(0, "status").lines().filter(line -> line.endsWith(" ready"))).hasSize(3);
            assertThat(pid("worker-2")).isNotEqualTo(worker);
            assertThat(state.resolve("logs/worker-2.before.log")).isNotEmptyFile();
            var router = new Gateway(URI.create("http://127.0.0.1:" + port),
                    URI.create("http://127.0.0.1:" + (port + 1000)));
            assertThat(router.complete("Hello", 2).status()).isEqualTo(200);
            assertThat(warmpath(0, "logs", "--lines", "1").lines().map(line -> line.split(" ")[0]))
                    .contains("router", "worker-1", "worker-2");

            List<Long> pids = pids();
            assertThat(pids).hasSize(3);
            terminal.getOutputStream().write(CTRL_C.getBytes(UTF_8));
            terminal.getOutputStream().flush();

            assertThat(terminal.waitFor(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(terminal.exitValue()).isEqualTo(ENDED_BY_SIGINT);
            assertThat(screen()).contains("stopping ...").doesNotContain("router ended");
            Await.until("no process is left", () -> pids.stream().noneMatch(pid -> ProcessHandle.of(pid).isPresent()));
            assertThat(warmpath(1, "status")).contains("no fleet is running");
        } finally {
            terminal.destroy();
            warmpath(0, "down");
        }
    }

    @Test
    void ctrl_c_while_processes_start_stops_them_too() throws IOException, InterruptedException {
        Process terminal = terminal("up --workers 1 --port " + LocalFleet.freePortRange(1, 1));
        try {
            Await.until("both are starting", () -> pids().size() == 2);
            List<Long> pids = pids();

            terminal.getOutputStream().write(CTRL_C.getBytes(UTF_8));
            terminal.getOutputStream().flush();

            assertThat(terminal.waitFor(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(terminal.exitValue()).isEqualTo(ENDED_BY_SIGINT);
            assertThat(screen()).doesNotContain("ended before it was ready");
            Await.until("no process is left", () -> pids.stream().noneMatch(pid -> ProcessHandle.of(pid).isPresent()));
        } finally {
            terminal.destroy();
            warmpath(0, "down");
        }
    }

    @Test
    void a_bound_port_is_a_sentence() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 1);
        try (var taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            Process terminal = terminal("up --workers 1 --port " + taken.getLocalPort());

            assertThat(terminal.waitFor(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(terminal.exitValue()).isEqualTo(1);
            assertThat(screen().strip())
                    .isEqualTo("warmpath: port " + port + " is in use; choose another range with --port");
        }
    }

    private Process terminal(String arguments) throws IOException {
        return builder(state.resolve("screen"), "script", "--quiet", "--flush", "--return", "--command",
                LocalFleet.ROOT.resolve("warmpath") + " " + arguments, "/dev/null").start();
    }

    /** All that was written to it so far. */
    private String screen() {
        return read("screen");
    }

    private String warmpath(int status, String... arguments) throws IOException, InterruptedException {
        Process process = builder(state.resolve("said"), Stream.concat(
                Stream.of(LocalFleet.ROOT.resolve("warmpath").toString()), Stream.of(arguments)).toArray(String[]::new))
                .start();
        assertThat(process.waitFor(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).as("it returns").isTrue();
        assertThat(process.exitValue()).as(read("said")).isEqualTo(status);
        return read("said");
    }

    private ProcessBuilder builder(Path output, String... command) {
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("WARMPATH_"));
        builder.environment().put("WARMPATH_STATE", state.toString());
        return builder;
    }

    private long pid(String id) {
        return read("fleet").lines().filter(line -> line.split(" ")[1].equals(id))
                .mapToLong(line -> Long.parseLong(line.split(" ")[2])).findFirst().orElseThrow();
    }

    private List<Long> pids() {
        return read("fleet").lines().map(line -> Long.valueOf(line.split(" ")[2])).toList();
    }

    private String read(String file) {
        try {
            Path path = state.resolve(file);
            return Files.exists(path) ? Files.readString(path) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
