package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A gateway that answers, from its start to its end. */
final class RunningGateway implements AutoCloseable {

    private static final Duration LONGEST_START = Duration.ofSeconds(60);
    private static final Duration BACK_SOON = Duration.ofMillis(20);
    private static final long LONGEST_END_SECONDS = 20;
    private static final Pattern LEASE_LOST = Pattern.compile("lease of \\d+ ms has ended");
    private static final String QUESTION = """
            {"model":"%s","messages":[{"role":"user","content":"Hello"}],"max_tokens":1,"stream":false}"""
            .formatted(MockModel.NAME);

    private final Gateway.Started started;
    private final int port;
    private final Duration startTime;
    private final @Nullable JvmMeter meter;

    private RunningGateway(Gateway.Started started, int port, Duration startTime, @Nullable JvmMeter meter) {
        this.started = started;
        this.port = port;
        this.startTime = startTime;
        this.meter = meter;
    }

    /** Starts it and waits for its first answer. */
    static RunningGateway start(Gateway gateway, MockFleet fleet, Path model, Path folder)
            throws IOException, InterruptedException {
        int port = Ports.free();
        long begin = System.nanoTime();
        Gateway.Started started = gateway.start(new Gateway.Site(fleet, model, folder, port));
        try {
            awaitAnswer(gateway, started, port, begin);
            Duration startTime = Duration.ofNanos(System.nanoTime() - begin);
            return new RunningGateway(started, port, startTime,
                    gateway.compilesItself() ? new JvmMeter(started.process().pid()) : null);
        } catch (IOException | InterruptedException e) {
            end(started);
            throw e;
        }
    }

    private static void awaitAnswer(Gateway gateway, Gateway.Started started, int port, long begin)
            throws IOException, InterruptedException {
        HttpRequest question = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/chat/completions"))
                .timeout(Duration.ofSeconds(10)).header("content-type", "application/json")
                .POST(BodyPublishers.ofString(QUESTION)).build();
        try (var http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            while (!listens(port) || !answers(http, question)) {
                if (!started.process().isAlive() || System.nanoTime() - begin > LONGEST_START.toNanos()) {
                    throw new IOException(gateway.name() + " gives no answer; its log ends with\n"
                            + logEnd(started.log()));
                }
                Thread.sleep(BACK_SOON);
            }
        }
    }

    private static boolean listens(int port) {
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean answers(HttpClient http, HttpRequest question) throws InterruptedException {
        try {
            return http.send(question, BodyHandlers.discarding()).statusCode() == 200;
        } catch (IOException e) {
            return false;
        }
    }

    private static String logEnd(Path log) throws IOException {
        String text = Files.readString(log);
        return text.substring(Math.max(0, text.length() - 2_000));
    }

    int port() {
        return port;
    }

    Duration startTime() {
        return startTime;
    }

    ProcessTree processes() {
        return new ProcessTree(started.process().toHandle());
    }

    /** 0 where nobody counts. */
    long allocatedBytes() {
        return meter == null ? 0 : meter.allocatedBytes();
    }

    boolean countsAllocation() {
        return meter != null;
    }

    /** So far, by its log. */
    long leasesLost() throws IOException {
        return LEASE_LOST.matcher(Files.readString(started.log())).results().count();
    }

    @Override
    public void close() throws IOException {
        if (meter != null) {
            meter.close();
        }
        end(started);
    }

    private static void end(Gateway.Started started) {
        if (started.greeter() != null) {
            started.greeter().interrupt();
        }
        end(started.process());
        if (started.workers() != null) {
            end(started.workers());
        }
    }

    private static void end(Process process) {
        process.destroy();
        try {
            if (process.waitFor(LONGEST_END_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }
}
