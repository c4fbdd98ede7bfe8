package dev.warmpath.acceptance;

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
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * One router and some workers as processes of their own on this machine. Ports are laid out as {@code ./warmpath up}
 * does it: router on P, workers on P + 1 …, management on each + 1000. Closing ends every process that was started.
 */
final class LocalFleet implements AutoCloseable {

    static final String MODEL = "warmpath-tiny";
    static final int BLOCK_SIZE = 16;

    static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path LOGS = Path.of("target", "fleet-logs");
    private static final int MANAGEMENT_OFFSET = 1000;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(90);

    private final int port;
    private final List<Process> workers = new ArrayList<>();
    private final Process router;

    /** Starts the processes and returns when the router knows every worker as ready. */
    static LocalFleet start(int workerCount) {
        return new LocalFleet(workerCount);
    }

    private LocalFleet(int workerCount) {
        this.port = freePortRange(workerCount + 1);
        this.router = startRouter();
        try {
            for (int i = 1; i <= workerCount; i++) {
                workers.add(startWorker(i));
            }
            Await.until(START_TIMEOUT, "all workers are ready", () -> {
                requireAlive();
                return gateway().readyWorkers().size() == workerCount;
            });
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    Gateway gateway() {
        return new Gateway(URI.create("http://127.0.0.1:" + port), URI.create("http://127.0.0.1:" + managementPort(0)));
    }

    static String workerId(int number) {
        return "worker-" + number;
    }

    URI workerManagement(int number) {
        return URI.create("http://127.0.0.1:" + managementPort(number));
    }

    /** Ends a worker at once, as a crash would. @param number 1 for the first */
    void kill(int number) throws InterruptedException {
        Process worker = workers.get(number - 1);
        worker.destroyForcibly();
        worker.waitFor(10, TimeUnit.SECONDS);
    }

    void restartWorker(int number) {
        workers.set(number - 1, startWorker(number));
    }

    ProcessHandle routerProcess() {
        return router.toHandle();
    }

    ProcessHandle workerProcess(int number) {
        return workers.get(number - 1).toHandle();
    }

    @Override
    public void close() {
        List<Process> all = new ArrayList<>(workers);
        all.addFirst(router);
        all.forEach(Process::destroy);
        for (Process process : all) {
            try {
                if (!process.waitFor(10, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }

    private Process startRouter() {
        return launch("router", List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"),
                ROOT.resolve("router-service/target/router-service-app.jar"), 0, List.of());
    }

    private Process startWorker(int number) {
        return launch(workerId(number), List.of("-XX:+UseSerialGC", "-Xmx1g", "--add-modules", "jdk.incubator.vector"),
                ROOT.resolve("worker-agent/target/worker-agent-app.jar"), number, List.of(
                        "--warmpath.worker.id=" + workerId(number),
                        "--warmpath.worker.base-url=http://127.0.0.1:" + (port + number),
                        "--warmpath.model.directory=" + ROOT.resolve("models").resolve(MODEL),
                        "--warmpath.compute.threads=1",
                        "--warmpath.routerlink.urls=http://127.0.0.1:" + managementPort(0)));
    }

    private Process launch(String id, List<String> jvmFlags, Path jar, int offset, List<String> arguments) {
        if (!Files.exists(jar)) {
            throw new IllegalStateException(jar + " is missing: these tests run the packaged services (mvn verify)");
        }
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmFlags);
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-jar", jar.toString(),
                "--server.port=" + (port + offset), "--management.server.port=" + managementPort(offset)));
        command.addAll(arguments);
        try {
            Files.createDirectories(LOGS);
            return new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(LOGS.resolve(port + "-" + id + ".log").toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void requireAlive() {
        if (!router.isAlive() || workers.stream().anyMatch(worker -> !worker.isAlive())) {
            throw new IllegalStateException("a process ended while starting; logs: " + LOGS.toAbsolutePath());
        }
    }

    private int managementPort(int offset) {
        return port + offset + MANAGEMENT_OFFSET;
    }

    /** @return P such that P … and P + 1000 … are free, {@code count} ports each */
    static int freePortRange(int count) {
        var random = new SplittableRandom();
        for (int attempt = 0; attempt < 100; attempt++) {
            int base = random.nextInt(20_000, 30_000);
            if (areFree(base, count) && areFree(base + MANAGEMENT_OFFSET, count)) {
                return base;
            }
        }
        throw new IllegalStateException("no free range of " + count + " ports");
    }

    private static boolean areFree(int base, int count) {
        for (int port = base; port < base + count; port++) {
            try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                assert socket.isBound();
            } catch (IOException e) {
                return false;
            }
        }
        return true;
    }
}
