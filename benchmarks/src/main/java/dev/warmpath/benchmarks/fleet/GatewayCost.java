package dev.warmpath.benchmarks.fleet;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/**
 * What a request costs the router: processor time of a router's process, as the operating system counts it, while
 * clients ask a worker that computes nothing ({@link MockWorker}). Clients and worker are in this process, so what they
 * cost is not in it. The arguments are the router's flags for the virtual machine:
 * <pre>
 * mvn -q -B -DskipTests package dependency:build-classpath -pl benchmarks -am -Dmdep.outputFile=target/classpath
 * java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *     dev.warmpath.benchmarks.fleet.GatewayCost -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx512m
 * </pre>
 */
public final class GatewayCost {

    private static final Path ROUTER = Path.of("router-service/target/router-service-app.jar");
    private static final Path MODEL = Path.of("models/warmpath-tiny");
    private static final int CLIENTS = 64;
    private static final Duration TOKEN_INTERVAL = Duration.ofMillis(10);
    /** Before the first row and between rows: the compiler is still at work in both. */
    private static final Duration FIRST_WARM_UP = Duration.ofSeconds(45);
    private static final Duration WARM_UP = Duration.ofSeconds(15);
    private static final Duration MEASURED = Duration.ofSeconds(20);
    private static final int ORDINARY_TOKENS = 2_000;

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ProcessHandle router;
    private final URI completions;

    private GatewayCost(ProcessHandle router, URI url) {
        this.router = router;
        this.completions = url.resolve("/v1/completions");
    }

    /** @param newTokens of each answer */
    private record Load(String name, boolean streamed, int promptTokens, int newTokens) {}

    /** @param cpuNanos of the router's process, all of its threads */
    private record Cost(long requests, long tokens, long cpuNanos, long wallNanos) {

        double microsPerRequest() {
            return cpuNanos / 1e3 / requests;
        }
    }

    public static void main(String[] flags) throws IOException, InterruptedException {
        int port = freePort();
        int management = freePort();
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of(flags));
        command.addAll(List.of("-jar", ROUTER.toString(), "--server.address=127.0.0.1", "--server.port=" + port,
                "--management.server.address=127.0.0.1", "--management.server.port=" + management));
        Process process = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try (var _ = new MockWorker(URI.create("http://127.0.0.1:" + management), MODEL, TOKEN_INTERVAL)) {
            var cost = new GatewayCost(process.toHandle(), URI.create("http://127.0.0.1:" + port));
            cost.awaitReady();
            cost.run(flags);
        } finally {
            process.destroy();
            process.waitFor();
        }
    }

    private static int freePort() throws IOException {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private void awaitReady() throws InterruptedException {
        var load = new Load("", false, 1, 1);
        while (true) {
            try {
                if (send(load, new SplittableRandom(0))) {
                    return;
                }
                Thread.sleep(100);
            } catch (IOException e) {
                if (!router.isAlive()) {
                    throw new IllegalStateException("the router has ended: look for " + ROUTER + " and at its flags");
                }
                Thread.sleep(100);
            }
        }
    }

    private void run(String[] flags) throws InterruptedException {
        System.out.printf("router: java %s; %d clients, a token each %d ms%n%n", String.join(" ", flags), CLIENTS,
                TOKEN_INTERVAL.toMillis());
        System.out.println("| | requests/s | tokens/s | CPU of the router | µs a request |");
        System.out.println("|---|---:|---:|---:|---:|");
        List<Thread> early = ask(new Load("", true, 100, 16), new LongAdder());
        Thread.sleep(FIRST_WARM_UP);
        end(early);
        Cost one = measure(new Load("streamed, 100 tokens in, 1 out", true, 100, 1));
        measure(new Load("streamed, 1,500 in, 1 out", true, 1_500, 1));
        Cost many = measure(new Load("streamed, 100 in, 128 out", true, 100, 128));
        Cost oneWhole = measure(new Load("whole, 100 in, 1 out", false, 100, 1));
        Cost manyWhole = measure(new Load("whole, 100 in, 128 out", false, 100, 128));
        System.out.printf(Locale.ROOT, "%nA further token costs %.1f µs streamed, %.1f µs in a whole answer.%n",
                perToken(one, many), perToken(oneWhole, manyWhole));
    }

    private static double perToken(Cost one, Cost many) {
        return (many.microsPerRequest() - one.microsPerRequest())
                / ((double) many.tokens / many.requests - (double) one.tokens / one.requests);
    }

    private Cost measure(Load load) throws InterruptedException {
        var answered = new LongAdder();
        List<Thread> clients = ask(load, answered);
        Thread.sleep(WARM_UP);
        Cost before = now(load, answered);
        Thread.sleep(MEASURED);
        Cost after = now(load, answered);
        end(clients);
        var cost = new Cost(after.requests - before.requests, after.tokens - before.tokens,
                after.cpuNanos - before.cpuNanos, after.wallNanos - before.wallNanos);
        System.out.printf(Locale.ROOT, "| %s | %,.0f | %,.0f | %.0f %% | %,.0f |%n", load.name,
                cost.requests * 1e9 / cost.wallNanos, cost.tokens * 1e9 / cost.wallNanos,
                100.0 * cost.cpuNanos / cost.wallNanos, cost.microsPerRequest());
        return cost;
    }

    private List<Thread> ask(Load load, LongAdder answered) {
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int seed = i;
            clients.add(Thread.ofVirtual().start(() -> askOn(load, new SplittableRandom(seed), answered)));
        }
        return clients;
    }

    private static void end(List<Thread> clients) throws InterruptedException {
        for (Thread client : clients) {
            client.interrupt();
            client.join();
        }
    }

    private Cost now(Load load, LongAdder answered) {
        long requests = answered.sum();
        return new Cost(requests, requests * load.newTokens,
                router.info().totalCpuDuration().orElseThrow().toNanos(), System.nanoTime());
    }

    private void askOn(Load load, SplittableRandom random, LongAdder answered) {
        try {
            while (true) {
                if (send(load, random)) {
                    answered.increment();
                } else {
                    Thread.sleep(TOKEN_INTERVAL);                  // it has not seen yet how fast the worker is
                }
            }
        } catch (InterruptedException e) {
            // it has been measured
        } catch (IOException e) {
            if (!Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException(e);
            }
        }
    }

    /**
     * A prompt of random ids: nothing is found in the index, and nothing is tokenized.
     *
     * @return false if it is refused
     */
    private boolean send(Load load, SplittableRandom random) throws IOException, InterruptedException {
        String prompt = Arrays.stream(random.ints(load.promptTokens, 0, ORDINARY_TOKENS).toArray())
                .mapToObj(Integer::toString).collect(Collectors.joining(","));
        String body = """
                {"model":"mock","stream":%b,"temperature":0,"ignore_eos":true,"max_tokens":%d,"prompt":[%s]}"""
                .formatted(load.streamed, load.newTokens, prompt);
        HttpResponse<InputStream> response = http.send(HttpRequest.newBuilder(completions)
                .header("content-type", "application/json").POST(BodyPublishers.ofString(body)).build(),
                BodyHandlers.ofInputStream());
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            String last = "";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                last = line.isEmpty() ? last : line;
            }
            if (response.statusCode() == 503) {
                return false;
            }
            if (response.statusCode() != 200 || load.streamed && !last.equals("data: [DONE]")) {
                throw new IOException("status " + response.statusCode() + ", ended by " + last);
            }
            return true;
        }
    }
}
