package dev.warmpath.acceptance;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * A fleet of workers of a known capacity in a process of its own, which costs next to no processor: prompts are
 * computed one after the other at a given speed, then a token comes each so many milliseconds beside the others. Speaks
 * the real protocol on real ports; its model's text files are those of {@code warmpath-tiny}. Prints a line whenever a
 * router does not know a worker any more.
 *
 * <p>Arguments: the routers' management URLs with commas between them, the first port, number of workers, sequences
 * each, prompt tokens a second, milliseconds a token.
 */
final class ModelledWorkers {

    static final String LEASE_LOST = "lease lost";
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int BLOCKS = 100_000;
    private static final int MAX_WAITING = 512;
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    private static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(2);
    private static final Map<String, byte[]> FILES = new LinkedHashMap<>();

    private ModelledWorkers() {}

    public static void main(String[] args) throws Exception {
        ModelDescription model = model(LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL));
        List<URI> routers = Stream.of(args[0].split(",")).map(URI::create).toList();
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            new Worker("modelled-" + i, Integer.parseInt(args[1]) + i, routers, model,
                    Integer.parseInt(args[3]), Integer.parseInt(args[4]), Integer.parseInt(args[5])).start();
        }
        while (System.in.read() >= 0) {                            // whoever started this holds the other end
            continue;
        }
        System.exit(0);
    }

    private static ModelDescription model(Path directory) throws IOException {
        String[] digests = new String[4];
        List<String> names =
                List.of("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json");
        for (int i = 0; i < digests.length; i++) {
            byte[] content = Files.readAllBytes(directory.resolve(names.get(i)));
            digests[i] = sha256(content);
            FILES.put(digests[i], content);
        }
        var parts = new RevisionParts("a".repeat(64), digests[0], digests[1], digests[2], digests[3], "sha256_cbor",
                "0", LocalFleet.BLOCK_SIZE, 2_048);
        return new ModelDescription(LocalFleet.MODEL, parts.revision(), parts, 1_000, 2_048);
    }

    private static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** Its lock guards slots, queue and the time until which prompts are being computed. */
    private static final class Worker {

        private static final ScheduledExecutorService TIMER = Executors.newScheduledThreadPool(1);
        private static final HttpClient HTTP = HttpClient.newHttpClient();

        private final String id;
        private final int port;
        private final List<URI> routers;
        private final ModelDescription model;
        private final int sequences;
        private final int promptTokensPerSecond;
        private final int millisPerToken;
        private final ArrayDeque<Sequence> waiting = new ArrayDeque<>();
        private int running;
        private long prefillEndNanos = System.nanoTime();

        Worker(String id, int port, List<URI> routers, ModelDescription model, int sequences, int promptTokensPerSecond,
                int millisPerToken) {
            this.id = id;
            this.port = port;
            this.routers = routers;
            this.model = model;
            this.sequences = sequences;
            this.promptTokensPerSecond = promptTokensPerSecond;
            this.millisPerToken = millisPerToken;
        }

        void start() {
            HttpServer.create().host("127.0.0.1").port(port)
                    .route(routes -> routes
                            .post(Protocol.GENERATE_PATH, this::generate)
                            .get(Protocol.EVENTS_PATH, (_, response) -> events(response))
                            .get(Protocol.FILES_PATH + "{sha256}", ModelledWorkers::file))
                    .bindNow();
            routers.forEach(router -> Thread.ofVirtual().name(id).start(() -> beat(router)));
        }

        private Publisher<Void> events(HttpServerResponse response) {
            var empty = new KvEventBatch(id, 1, 0, true, List.of(), 0, 0);
            return response.send(Flux.just(EventFrames.encode(empty))
                    .concatWith(Flux.interval(EventFrames.KEEP_ALIVE_INTERVAL).onBackpressureDrop()
                            .map(_ -> EventFrames.keepAlive()))
                    .map(Unpooled::wrappedBuffer), _ -> true);
        }

        private Publisher<Void> generate(HttpServerRequest request, HttpServerResponse response) {
            return request.receive().aggregate().asByteArray()
                    .map(body -> JSON.readValue(body, GenerateRequest.class))
                    .flatMapMany(read -> {
                        var sequence = new Sequence(this, read);
                        if (!accept(sequence)) {
                            return response.status(503).sendString(Mono.just(JSON.writeValueAsString(Map.of("status",
                                    503, "detail", "the queue is full", "reason", FailureReason.QUEUE_FULL))));
                        }
                        return response.header("content-type", "application/x-ndjson")
                                .send(sequence.events.asFlux().doFinally(_ -> sequence.end())
                                        .map(event -> Unpooled.copiedBuffer(JSON.writeValueAsString(event) + "\n",
                                                StandardCharsets.UTF_8)), _ -> true);
                    })
                    .then();
        }

        private synchronized boolean accept(Sequence sequence) {
            if (running < sequences) {
                begin(sequence);
            } else if (waiting.size() < MAX_WAITING) {
                waiting.add(sequence);
            } else {
                return false;
            }
            return true;
        }

        private void begin(Sequence sequence) {
            running++;
            sequence.running = true;
            long now = System.nanoTime();
            prefillEndNanos = Math.max(now, prefillEndNanos)
                    + TimeUnit.SECONDS.toNanos(sequence.request.promptTokens().length) / promptTokensPerSecond;
            sequence.draws = TIMER.scheduleAtFixedRate(sequence::draw, prefillEndNanos - now,
                    TimeUnit.MILLISECONDS.toNanos(millisPerToken), TimeUnit.NANOSECONDS);
        }

        private synchronized void ended(Sequence sequence) {
            if (sequence.running) {
                sequence.running = false;
                sequence.draws.cancel(false);
                running--;
                if (!waiting.isEmpty()) {
                    begin(waiting.remove());
                }
            } else {
                waiting.remove(sequence);
            }
        }

        private synchronized Heartbeat heartbeat() {
            return new Heartbeat(id, 1, running, waiting.size(), BLOCKS, 0, 0, 0, 0);
        }

        private void beat(URI router) {
            boolean registered = false;
            while (true) {
                try {
                    if (!registered) {
                        var registration = new Registration(Protocol.VERSION, id, 1,
                                URI.create("http://127.0.0.1:" + port), model, BLOCKS, sequences, true);
                        registered = send(router, Protocol.REGISTRATIONS_PATH, registration) == 204;
                    } else if (send(router, Protocol.HEARTBEATS_PATH, heartbeat()) == 404) {
                        System.out.println(LEASE_LOST + " " + id);
                        registered = false;
                        continue;
                    }
                } catch (IOException e) {
                    System.out.println(id + ": " + e);             // tries again, as a real one does
                } catch (InterruptedException e) {
                    return;
                }
                sleep();
            }
        }

        private int send(URI router, String path, Object body) throws IOException, InterruptedException {
            return HTTP.send(HttpRequest.newBuilder(router.resolve(path)).timeout(HEARTBEAT_TIMEOUT)
                    .header("content-type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body))).build(),
                    HttpResponse.BodyHandlers.discarding()).statusCode();
        }

        private static void sleep() {
            try {
                Thread.sleep(HEARTBEAT);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static Publisher<Void> file(HttpServerRequest request, HttpServerResponse response) {
        byte[] content = FILES.get(request.param("sha256"));
        return content == null ? response.status(404).send() : response.sendByteArray(Mono.just(content));
    }

    private static final class Sequence {

        private static final int TOKEN = 70;

        private final Worker worker;
        private final GenerateRequest request;
        private final Sinks.Many<GenerateEvent> events = Sinks.many().unicast().onBackpressureBuffer();
        private boolean running;
        private ScheduledFuture<?> draws;
        private int drawn;

        Sequence(Worker worker, GenerateRequest request) {
            this.worker = worker;
            this.request = request;
        }

        void draw() {
            drawn++;
            events.tryEmitNext(new GenerateEvent.Tokens(0, new int[] {TOKEN}, null));
            if (drawn == request.stop().maxTokens()) {
                events.tryEmitNext(new GenerateEvent.Finished(FinishReason.LENGTH,
                        new GenerateEvent.Usage(request.promptTokens().length, 0, drawn)));
                end();
                events.tryEmitComplete();
            }
        }

        void end() {
            worker.ended(this);
        }
    }
}
