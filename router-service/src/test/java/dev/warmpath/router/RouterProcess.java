package dev.warmpath.router;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A router in a process of its own, with the launcher's flags and on free ports: what it logs and how it bears a small
 * heap can be looked at.
 */
public final class RouterProcess implements AutoCloseable {

    private static final Pattern STARTED = Pattern.compile("Netty started on port (\\d+)");
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final Process process;
    private final List<String> log = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> logEnd;
    private final int port;
    private final int managementPort;

    /** @param settings as on a command line, each with its two dashes */
    public RouterProcess(String... settings) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "--enable-native-access=ALL-UNNAMED",
                "-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                RouterApplication.class.getName(), "--server.port=0", "--management.server.port=0",
                "--warmpath.drain.settle=0s"));
        command.addAll(List.of(settings));
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        logEnd = CompletableFuture.runAsync(this::readLog, Thread::startVirtualThread);
        List<Integer> ports = awaitPorts();
        boolean managementFirst = status(ports.get(0), "/actuator/health/liveness") == 200;
        managementPort = ports.get(managementFirst ? 0 : 1);
        port = ports.get(managementFirst ? 1 : 0);
    }

    private void readLog() {
        try (BufferedReader lines = process.inputReader()) {
            lines.lines().forEach(log::add);
        } catch (IOException | UncheckedIOException e) {
            log.add("(the log broke off: " + e + ")");
        }
    }

    private List<Integer> awaitPorts() {
        while (true) {
            List<Integer> ports = log.stream().map(STARTED::matcher).filter(Matcher::find)
                    .map(line -> Integer.valueOf(line.group(1))).toList();
            if (ports.size() == 2) {
                return ports;
            }
            if (!process.isAlive()) {
                throw new AssertionError("the router ended:\n" + String.join("\n", log));
            }
            pause();
        }
    }

    public int port() {
        return port;
    }

    public int managementPort() {
        return managementPort;
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** All lines up to now. */
    public List<String> log() {
        return List.copyOf(log);
    }

    /** Of a GET on loopback. */
    public static int status(int port, String path) {
        return get(port, path).statusCode();
    }

    public static HttpResponse<String> get(int port, String path) {
        try {
            return HTTP.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        logEnd.join();
    }
}
