package dev.warmpath.benchmarks.fleet;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a worker beside an engine adds to every token: the time from the engine's write to the client's read, through a
 * worker in a process of its own and without it, in turns, and the worker's processor time. The engine is a stand-in
 * that writes a token of each stream every 20 ms as vLLM 0.32 does, an event and a piece on the network each; nobody
 * computes. Streams begin at different times. Run from the repository root:
 * <pre>
 *   mvn -q -B -pl benchmarks -am package dependency:build-classpath -DskipTests -Dmdep.outputFile=target/classpath
 *   java -XX:+UseSerialGC -Xmx512m -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.fleet.EngineAgentCost
 * </pre>
 */
public final class EngineAgentCost {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int TOKENS = 500;
    private static final long GAP_NANOS = Duration.ofMillis(20).toNanos();
    /** Of a stream, told by nobody: connections are made, and code is compiled. */
    private static final int LEFT_OUT = 50;
    private static final int ROUNDS = 3;
    private static final int WARM_UPS = 5;
    private static final int IDLE_MILLIS = 10_000;
    private static final int[] STREAMS = {1, 16, 64, 128};
    private static final Path AGENT = Path.of("worker-agent/target/worker-agent-app.jar");

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    /** When each token of a stream was written, by the stream's number, which is its prompt. */
    private final ConcurrentHashMap<Integer, long[]> written = new ConcurrentHashMap<>();
    private final ServerSocket engine = new ServerSocket(0, 256, InetAddress.getLoopbackAddress());
    private int streams;

    private EngineAgentCost() throws IOException {}

    public static void main(String[] args) throws Exception {
        var cost = new EngineAgentCost();
        Thread.ofVirtual().start(cost::accept);
        int port = freePort();
        Process agent = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xmx1g", "--add-modules", "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED", "-jar", AGENT.toString(), "--server.port=" + port,
                "--management.server.port=" + freePort(), "--warmpath.engine.kind=vllm",
                "--warmpath.engine.url=http://127.0.0.1:" + cost.engine.getLocalPort(),
                "--warmpath.model.directory=models/warmpath-tiny", "--warmpath.worker.id=agent",
                "--warmpath.worker.base-url=http://127.0.0.1:" + port,
                "--warmpath.routerlink.urls=http://127.0.0.1:" + freePort(), "--logging.level.root=ERROR")
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.INHERIT).start();
        try {
            cost.run(agent, URI.create("http://127.0.0.1:" + port));
        } finally {
            agent.destroy();
            agent.waitFor();
        }
        System.exit(0);
    }

    private void run(Process agent, URI address) throws Exception {
        awaitReady(agent, address);
        for (int round = 0; round < WARM_UPS; round++) {
            measure(STREAMS[STREAMS.length - 1], address.resolve(Protocol.GENERATE_PATH), true);
        }
        long idle = cpuNanos(agent);
        Thread.sleep(IDLE_MILLIS);
        System.out.printf(Locale.ROOT, "the worker with nothing to do: %.1f ms of processor time a second%n",
                (cpuNanos(agent) - idle) / 1e3 / IDLE_MILLIS);
        System.out.printf("%8s %28s %28s %28s %12s%n", "streams", "direct p50/p99/p99.9 ms", "through the worker",
                "added at p50/p99", "CPU µs/token");
        for (int count : STREAMS) {
            for (int round = 0; round < ROUNDS; round++) {
                double[] direct = measure(count, local(engine.getLocalPort()).resolve("/v1/completions"), false);
                long before = cpuNanos(agent);
                double[] through = measure(count, address.resolve(Protocol.GENERATE_PATH), true);
                double micros = (cpuNanos(agent) - before) / 1e3 / ((double) count * TOKENS);
                System.out.printf(Locale.ROOT, "%8d %28s %28s %28s %12.1f%n", count, shown(direct), shown(through),
                        String.format(Locale.ROOT, "%.2f / %.2f", at(through, 0.5) - at(direct, 0.5),
                                at(through, 0.99) - at(direct, 0.99)), micros);
            }
        }
    }

    private static String shown(double[] sorted) {
        return String.format(Locale.ROOT, "%.2f / %.2f / %.2f", at(sorted, 0.5), at(sorted, 0.99), at(sorted, 0.999));
    }

    private static double at(double[] sorted, double share) {
        return sorted[(int) (share * (sorted.length - 1))];
    }

    private static long cpuNanos(Process process) {
        return process.info().totalCpuDuration().orElseThrow().toNanos();
    }

    private void awaitReady(Process agent, URI address) throws InterruptedException {
        while (true) {
            try {
                read(address.resolve(Protocol.GENERATE_PATH), true, 0);
                return;
            } catch (IOException e) {
                if (!agent.isAlive()) {
                    throw new IllegalStateException("the worker has ended", e);
                }
                Thread.sleep(200);
            }
        }
    }

    /** @return milliseconds from write to read of each token, sorted */
    private double[] measure(int count, URI uri, boolean isAgent) throws Exception {
        List<Future<double[]>> running = new ArrayList<>();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < count; i++) {
                running.add(clients.submit(() -> read(uri, isAgent, TOKENS)));
                Thread.sleep(1 + GAP_NANOS / 1_000_000 * 7 / 3 / count);
            }
        }
        List<double[]> all = new ArrayList<>();
        for (Future<double[]> each : running) {
            all.add(each.get());
        }
        return all.stream().flatMapToDouble(Arrays::stream).sorted().toArray();
    }

    /** @param tokens 0 = only whether it answers */
    private double[] read(URI uri, boolean isAgent, int tokens) throws IOException, InterruptedException {
        int number;
        synchronized (this) {
            number = 1 + streams++ % 1_000;                            // below the size of the vocabulary
        }
        written.put(number, new long[TOKENS]);
        int[] prompt = {number, number};
        int most = Math.max(1, tokens);
        String body = isAgent
                ? JSON.writeValueAsString(GenerateRequest.of("r" + number, prompt, SamplingParameters.GREEDY,
                        StopConditions.pastTheEnd(most)))
                : JSON.writeValueAsString(Map.of("prompt", prompt, "max_tokens", most, "stream", true));
        HttpResponse<InputStream> response = client.send(HttpRequest.newBuilder(uri)
                .header("content-type", "application/json").POST(BodyPublishers.ofString(body)).build(),
                BodyHandlers.ofInputStream());
        if (response.statusCode() != 200) {
            throw new IOException(uri + " answers " + response.statusCode() + ": "
                    + new String(response.body().readAllBytes(), StandardCharsets.UTF_8));
        }
        double[] millis = new double[Math.max(0, tokens - LEFT_OUT)];
        int told = 0;
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                long now = System.nanoTime();
                String json = isAgent ? line : line.startsWith("data: {") ? line.substring(6) : "";
                if (json.isEmpty()) {
                    continue;
                }
                JsonNode event = JSON.readTree(json);
                JsonNode ids = isAgent ? event.path("ids") : event.path("choices").path(0).path("token_ids");
                for (int i = 0; i < ids.size(); i++) {
                    if (tokens > 0 && told >= LEFT_OUT) {
                        millis[told - LEFT_OUT] = (now - written.get(number)[told]) / 1e6;
                    }
                    told++;
                }
            }
        }
        if (told != most) {
            throw new IOException(told + " tokens of " + most);
        }
        return millis;
    }

    // the engine

    private void accept() {
        while (true) {
            try {
                Socket socket = engine.accept();
                socket.setTcpNoDelay(true);
                Thread.ofVirtual().start(() -> serve(socket));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            OutputStream out = socket.getOutputStream();
            for (String head = in.readLine(); head != null; head = in.readLine()) {
                int length = 0;
                for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
                    if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                        length = Integer.parseInt(line.substring(15).strip());
                    }
                }
                char[] body = new char[length];
                for (int read = 0; read < length; ) {
                    read += in.read(body, read, length - read);
                }
                answer(head.split(" ")[1], new String(body), out);
            }
        } catch (IOException e) {
            // whoever asked has gone
        }
    }

    private void answer(String path, String body, OutputStream out) throws IOException {
        switch (path) {
            case "/v1/models" -> whole(out, 200, "{\"data\":[{\"id\":\"tiny\",\"owned_by\":\"vllm\",\"root\":\"tiny\","
                    + "\"max_model_len\":4096}]}");
            case "/health" -> whole(out, 200, "");
            case "/metrics" -> whole(out, 200, "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1001\","
                    + "enable_prefix_caching=\"True\"} 1\nvllm:num_requests_running{engine=\"0\"} 0\n");
            case "/v1/completions" -> complete(JSON.readTree(body), out);
            default -> whole(out, 404, "{}");
        }
    }

    private void complete(JsonNode request, OutputStream out) throws IOException {
        if (!request.path("stream").asBoolean(false)) {
            whole(out, 200, "{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\",\"token_ids\":[1]}],"
                    + "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}");
            return;
        }
        out.write(("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                + "transfer-encoding: chunked\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        int number = request.path("prompt").path(0).asInt();
        int tokens = request.path("max_tokens").asInt();
        long[] times = written.get(number);
        long due = System.nanoTime();
        for (int i = 0; i < tokens; i++) {
            due += GAP_NANOS;
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            String end = i == tokens - 1 ? "\"length\"" : "null";
            byte[] event = chunk("data: {\"id\":\"cmpl-" + number + "\",\"object\":\"text_completion\",\"created\":"
                    + "1764201600,\"model\":\"tiny\",\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null,"
                    + "\"finish_reason\":" + end + ",\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":["
                    + (i + 1) + "]}],\"usage\":null}\n\n");
            times[i] = System.nanoTime();
            out.write(event);
        }
        out.write(chunk("data: {\"id\":\"cmpl-" + number + "\",\"object\":\"text_completion\",\"created\":1764201600,"
                + "\"model\":\"tiny\",\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"total_tokens\":" + (2 + tokens)
                + ",\"completion_tokens\":" + tokens + "}}\n\n"));
        out.write(chunk("data: [DONE]\n\n"));
        out.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
    }

    private static byte[] chunk(String text) {
        return (Integer.toHexString(text.length()) + "\r\n" + text + "\r\n").getBytes(StandardCharsets.US_ASCII);
    }

    private static void whole(OutputStream out, int status, String body) throws IOException {
        out.write(("HTTP/1.1 " + status + " OK\r\ncontent-type: application/json\r\ncontent-length: " + body.length()
                + "\r\n\r\n" + body).getBytes(StandardCharsets.US_ASCII));
    }

    private static URI local(int port) {
        return URI.create("http://127.0.0.1:" + port);
    }

    private static int freePort() throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
