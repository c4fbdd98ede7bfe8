package dev.warmpath.acceptance;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * A worker as its routers see one, without a model that computes: it introduces itself, keeps its lease, hands out its
 * model's text files and holds no block. What it answers is somebody else's.
 */
final class StandInWorker implements AutoCloseable {

    static final JsonMapper JSON = JsonMapper.builder().build();
    static final int CONTEXT_LENGTH = 2_048;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final int BLOCKS = 100_000;
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    private static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(2);

    /** What draws the tokens. */
    interface Engine {

        Publisher<Void> generate(GenerateRequest request, HttpServerResponse response);

        int running();

        int waiting();
    }

    /**
     * A model as far as it is text.
     * @param files by their SHA-256, 64 hex digits
     */
    record Model(ModelDescription description, Map<String, byte[]> files) {

        /** The model that ships. */
        static Model shipped() {
            return named(LocalFleet.MODEL, Map.of());
        }

        /** The model that ships by another name. @param others in place of its own files, by name */
        static Model named(String name, Map<String, byte[]> others) {
            List<String> digests = new ArrayList<>();
            Map<String, byte[]> files = new LinkedHashMap<>();
            for (String file : List.of("config.json", "tokenizer.json", "tokenizer_config.json",
                    "generation_config.json")) {
                byte[] content = others.containsKey(file) ? others.get(file) : shippedFile(file);
                digests.add(sha256(content));
                files.put(digests.getLast(), content);
            }
            var parts = new RevisionParts("a".repeat(64), digests.get(0), digests.get(1), digests.get(2),
                    digests.get(3), "sha256_cbor", "0", LocalFleet.BLOCK_SIZE, CONTEXT_LENGTH);
            return new Model(new ModelDescription(name, parts.revision(), parts, 1_000, 2_048), files);
        }

        private static byte[] shippedFile(String name) {
            try {
                return Files.readAllBytes(LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL).resolve(name));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static String sha256(byte[] content) {
            try {
                return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java platform has SHA-256", e);
            }
        }
    }

    private final String id;
    private final int port;
    private final Model model;
    private final int sequences;
    private final Engine engine;
    private final Consumer<String> onLeaseLost;
    private final DisposableServer server;
    private final List<Thread> beats;

    /**
     * Listens on that port of this machine, and introduces itself to the routers.
     * @param routers     their management URLs
     * @param onLeaseLost is told this worker's id whenever a router does not know it any more
     */
    StandInWorker(String id, int port, List<URI> routers, Model model, int sequences, Engine engine,
            Consumer<String> onLeaseLost) {
        this.id = id;
        this.port = port;
        this.model = model;
        this.sequences = sequences;
        this.engine = engine;
        this.onLeaseLost = onLeaseLost;
        server = HttpServer.create().host("127.0.0.1").port(port)
                .route(routes -> routes
                        .post(Protocol.GENERATE_PATH, this::generate)
                        .get(Protocol.EVENTS_PATH, (_, response) -> events(response))
                        .get(Protocol.FILES_PATH + "{sha256}", this::file))
                .bindNow();
        beats = routers.stream().map(router -> Thread.ofVirtual().name(id).start(() -> beat(router))).toList();
    }

    @Override
    public void close() {
        beats.forEach(Thread::interrupt);
        server.disposeNow();
    }

    /** An answer of these events. */
    static Publisher<Void> answer(HttpServerResponse response, Flux<GenerateEvent> events) {
        return response.header("content-type", "application/x-ndjson")
                .send(events.map(event -> Unpooled.copiedBuffer(JSON.writeValueAsString(event) + "\n",
                        StandardCharsets.UTF_8)), _ -> true);
    }

    private Publisher<Void> generate(HttpServerRequest request, HttpServerResponse response) {
        return request.receive().aggregate().asByteArray()
                .map(body -> JSON.readValue(body, GenerateRequest.class))
                .flatMapMany(read -> engine.generate(read, response))
                .then();
    }

    private Publisher<Void> events(HttpServerResponse response) {
        var empty = new KvEventBatch(id, 1, 0, true, List.of(), 0, 0);
        return response.send(Flux.just(EventFrames.encode(empty))
                .concatWith(Flux.interval(EventFrames.KEEP_ALIVE_INTERVAL).onBackpressureDrop()
                        .map(_ -> EventFrames.keepAlive()))
                .map(Unpooled::wrappedBuffer), _ -> true);
    }

    private Publisher<Void> file(HttpServerRequest request, HttpServerResponse response) {
        byte[] content = model.files().get(request.param("sha256"));
        return content == null ? response.status(404).send() : response.sendByteArray(Mono.just(content));
    }

    private void beat(URI router) {
        boolean registered = false;
        try {
            while (true) {
                try {
                    if (!registered) {
                        var registration = new Registration(Protocol.VERSION, id, 1,
                                URI.create("http://127.0.0.1:" + port), model.description(), BLOCKS, sequences, true);
                        registered = send(router, Protocol.REGISTRATIONS_PATH, registration) == 204;
                    } else if (send(router, Protocol.HEARTBEATS_PATH, heartbeat()) == 404) {
                        onLeaseLost.accept(id);
                        registered = false;
                        continue;
                    }
                } catch (IOException e) {
                    System.out.println(id + ": " + e);             // tries again, as a real one does
                }
                Thread.sleep(HEARTBEAT);
            }
        } catch (InterruptedException e) {
            // it is closed
        }
    }

    private Heartbeat heartbeat() {
        return new Heartbeat(id, 1, engine.running(), engine.waiting(), BLOCKS, 0, 0, 0, 0);
    }

    private static int send(URI router, String path, Object body) throws IOException, InterruptedException {
        return HTTP.send(HttpRequest.newBuilder(router.resolve(path)).timeout(HEARTBEAT_TIMEOUT)
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body))).build(),
                HttpResponse.BodyHandlers.discarding()).statusCode();
    }
}
