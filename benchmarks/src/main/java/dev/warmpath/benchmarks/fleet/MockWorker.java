package dev.warmpath.benchmarks.fleet;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * A worker that computes nothing: it speaks the real protocol, and gives any number of sequences a token each so many
 * milliseconds, every one in a write of its own, as a step of a real one would. For a fleet without a token.
 */
final class MockWorker implements AutoCloseable {

    private static final String ID = "mock";
    private static final long EPOCH = 1;
    private static final int BLOCKS = 1_000_000;
    private static final int SEQUENCES = 4_096;
    private static final int CONTEXT = 2_048;
    private static final int VOCABULARY = 2_048;
    private static final int BLOCK_SIZE = 16;
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    /** A letter of {@code warmpath-tiny}'s vocabulary. */
    private static final int TOKEN = 70;

    private final JsonMapper json = JsonMapper.builder().build();
    private final HttpClient http = HttpClient.newHttpClient();
    private final Map<String, byte[]> files = new HashMap<>();
    private final URI management;
    private final Duration tokenInterval;
    private final ByteBuf tokenLine;
    private final DisposableServer server;
    private final Registration registration;
    private final Thread greeter = Thread.ofVirtual().unstarted(this::stayInTouch);

    /**
     * Starts it.
     *
     * @param management    of the one router, to which it says that it is there
     * @param model         directory of the model whose tokenizer the router loads
     * @param tokenInterval from one token of a sequence to the next
     */
    MockWorker(URI management, Path model, Duration tokenInterval) throws IOException {
        this.management = management;
        this.tokenInterval = tokenInterval;
        this.tokenLine = Unpooled.unreleasableBuffer(line(new GenerateEvent.Tokens(0, new int[] {TOKEN}, null)));
        server = HttpServer.create().host("127.0.0.1").port(0)
                .route(routes -> routes
                        .post(Protocol.GENERATE_PATH, this::generate)
                        .get(Protocol.EVENTS_PATH, (_, response) -> events(response))
                        .get(Protocol.FILES_PATH + "{sha256}", this::file))
                .bindNow();
        registration = new Registration(Protocol.VERSION, ID, EPOCH, URI.create("http://127.0.0.1:" + server.port()),
                describe(model), BLOCKS, SEQUENCES, true);
        greeter.start();
    }

    private ModelDescription describe(Path model) throws IOException {
        var parts = new RevisionParts("a".repeat(64), list(model, "config.json"), list(model, "tokenizer.json"),
                list(model, "tokenizer_config.json"), list(model, "generation_config.json"), "sha256_cbor", "0",
                BLOCK_SIZE, CONTEXT);
        return new ModelDescription("mock", parts.revision(), parts, 1, VOCABULARY);
    }

    private String list(Path model, String name) throws IOException {
        byte[] content = Files.readAllBytes(model.resolve(name));
        try {
            String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
            files.put(digest, content);
            return digest;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private Publisher<Void> generate(HttpServerRequest request, HttpServerResponse response) {
        return request.receive().aggregate().asByteArray()
                .map(body -> json.readValue(body, GenerateRequest.class))
                .flatMapMany(asked -> response.header("content-type", "application/x-ndjson")
                        .send(lines(asked), _ -> true))
                .then();
    }

    private Flux<ByteBuf> lines(GenerateRequest asked) {
        int tokens = asked.stop().maxTokens();
        var end = new GenerateEvent.Finished(FinishReason.LENGTH,
                new GenerateEvent.Usage(asked.promptTokens().length, 0, tokens));
        return Flux.interval(tokenInterval).onBackpressureBuffer(tokens).take(tokens)
                .map(_ -> tokenLine.duplicate())
                .concatWith(Mono.fromSupplier(() -> line(end)));
    }

    private ByteBuf line(GenerateEvent event) {
        return Unpooled.copiedBuffer(
                json.writerFor(GenerateEvent.class).writeValueAsString(event) + "\n", StandardCharsets.UTF_8);
    }

    private static Publisher<Void> events(HttpServerResponse response) {
        byte[] empty = EventFrames.encode(new KvEventBatch(ID, EPOCH, 0, true, List.of(), 0, 0));
        return response.send(Flux.just(empty)
                .concatWith(Flux.interval(EventFrames.KEEP_ALIVE_INTERVAL).onBackpressureDrop()
                        .map(_ -> EventFrames.keepAlive()))
                .map(Unpooled::wrappedBuffer), _ -> true);
    }

    private Publisher<Void> file(HttpServerRequest request, HttpServerResponse response) {
        byte[] content = files.get(request.param("sha256"));
        return content == null ? response.status(404).send() : response.sendByteArray(Mono.just(content));
    }

    private void stayInTouch() {
        boolean registered = false;
        try {
            while (true) {
                registered = registered ? post(Protocol.HEARTBEATS_PATH,
                        new Heartbeat(ID, EPOCH, 0, 0, BLOCKS, 0, 0, 0, 0))
                        : post(Protocol.REGISTRATIONS_PATH, registration);
                Thread.sleep(HEARTBEAT);
            }
        } catch (InterruptedException e) {
            // closed
        }
    }

    private boolean post(String path, Object body) throws InterruptedException {
        try {
            return http.send(HttpRequest.newBuilder(management.resolve(path)).header("content-type", "application/json")
                    .POST(BodyPublishers.ofString(json.writeValueAsString(body))).build(), BodyHandlers.discarding())
                    .statusCode() == 204;
        } catch (IOException e) {
            return false;                                          // the router is not there yet
        }
    }

    @Override
    public void close() {
        greeter.interrupt();
        server.disposeNow();
        http.close();
    }
}
