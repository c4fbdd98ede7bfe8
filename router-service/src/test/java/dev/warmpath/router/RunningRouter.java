package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The whole router on free ports, a model of 64 tokens of context with blocks of 4, and fake workers that join it.
 * After each test the workers leave, and no permit and no booking may be left. Leases and deadlines are longer than any
 * test, so that a machine that is held up fails none; a test of a deadline sets that one.
 */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT, properties = {
    "management.server.port=0",
    "warmpath.fleet.lease-duration=1h",
    "warmpath.openai.heartbeat=400ms",
    "warmpath.admission.max-in-flight=4",
    "warmpath.admission.max-wait=1h",
    "warmpath.drain.settle=0s",
    "warmpath.dispatch.least-retries=1000",
    "warmpath.dispatch.first-token-timeout=1h",
    "warmpath.dispatch.inter-token-timeout=1h",
})
public abstract class RunningRouter {

    protected static final String MODEL = "tiny";
    protected static final int CONTEXT_LENGTH = 64;
    protected static final int VOCABULARY_SIZE = 483;
    protected static final int END = 1;
    private static final int BLOCK_SIZE = 4;
    private static final RevisionParts PARTS = new RevisionParts(
            "", "", "a".repeat(64), "", "", HashSettings.SHA256_CBOR, "0", BLOCK_SIZE, CONTEXT_LENGTH);
    /** Of a test with {@link #CONTEXT_LENGTH}. */
    protected static final String REVISION = PARTS.revision();
    protected static final ModelTokenizer TOKENIZER = new ModelTokenizer(new ModelFiles(
            resource("byte-level.json"), resource("tokenizer_config.json"), null, null));
    /** Longer than any machine takes, and shorter than the deadlines: an answer in time is nobody's deadline. */
    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    protected static final JsonMapper JSON = JsonMapper.builder().build();

    @LocalServerPort int port;
    @LocalManagementPort int managementPort;
    @Autowired protected Fleet fleet;
    @Autowired RequestRouter requestRouter;
    @Autowired AdmissionControl admission;
    private final List<FakeWorker> workers = new ArrayList<>();

    @AfterEach
    void nothing_is_left_in_flight() {
        eventually(() -> admission.inFlight() == 0 && requestRouter.inFlight() == 0);
        fleet.everyone().forEach(worker -> fleet.remove(worker, "the test is over"));
        workers.forEach(FakeWorker::close);
    }

    /** A worker that has joined and is ready. */
    protected FakeWorker join(String id) {
        return join(id, "");
    }

    /** The same, of the revision with these weights. */
    protected FakeWorker join(String id, String weightsDigest) {
        return join(id, MODEL, partsOf(weightsDigest));
    }

    /** One that can nothing but what all can. */
    protected FakeWorker joinOutdated(String id) {
        return join(id, MODEL, partsOf(""), /* isAble */ false);
    }

    /** The same, of another model. */
    protected FakeWorker joinWithModel(String id, String model) {
        return join(id, model, partsOf("%064x".formatted(model.hashCode() & 0xffffffffL)));
    }

    private RevisionParts partsOf(String weightsDigest) {
        return new RevisionParts(weightsDigest, PARTS.config(), PARTS.tokenizer(), PARTS.tokenizerConfig(),
                PARTS.generationConfig(), PARTS.hashAlgorithm(), PARTS.hashSeed(), PARTS.blockSize(), contextLength());
    }

    private FakeWorker join(String id, String name, RevisionParts parts) {
        return join(id, name, parts, /* isAble */ true);
    }

    private FakeWorker join(String id, String name, RevisionParts parts, boolean isAble) {
        var worker = new FakeWorker(id);
        workers.add(worker);
        var model = new ModelDescription(name, parts.revision(), parts, 1_700_000_000L, VOCABULARY_SIZE);
        var plain = new Registration(Protocol.VERSION, worker.id(), 7L, worker.baseUrl(), model, 100, 8, true);
        var outcome = fleet.register(isAble ? plain.withAbilities(EnumSet.allOf(Ability.class)) : plain);
        fleet.indexed(((RegistrationOutcome.Accepted) outcome).worker());
        fleet.modelLoaded(parts.revision(), tokenizer());
        return worker;
    }

    /** The model's; a test of other chat templates has another. */
    protected ModelTokenizer tokenizer() {
        return TOKENIZER;
    }

    /** The model's; a test of long answers has another. */
    protected int contextLength() {
        return CONTEXT_LENGTH;
    }

    /** The model's makers say how tokens are drawn, until the next worker joins. */
    protected void loadGenerationConfig(String json) {
        fleet.modelLoaded(partsOf("").revision(), new ModelTokenizer(new ModelFiles(resource("byte-level.json"),
                resource("tokenizer_config.json"), json.getBytes(StandardCharsets.UTF_8), null)));
    }

    /** The model has a token of so many letters Q, until the next worker joins. */
    protected void loadLongToken(int id, int length) {
        String tokenizer = new String(resource("byte-level.json"), StandardCharsets.UTF_8);
        var content = Pattern.compile("(\"id\": " + id + ",\\s+\"content\": \")[^\"]+").matcher(tokenizer);
        assertThat(content.find()).isTrue();
        String longer = content.replaceFirst("$1" + "Q".repeat(length));
        fleet.modelLoaded(partsOf("").revision(), new ModelTokenizer(new ModelFiles(
                longer.getBytes(StandardCharsets.UTF_8),
                resource("tokenizer_config.json"), null, null)));
    }

    /** Announces that this worker holds the first blocks of that prompt. */
    protected void announce(FakeWorker fake, int[] prompt, int blockCount) {
        var chain = BlockHashChain.of(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, prompt);
        long[] keys = new long[blockCount];
        var digest = new KeySetDigest();
        for (int i = 0; i < blockCount; i++) {
            keys[i] = chain.key(i);
            digest.add(keys[i]);
        }
        var outcome = registered(fake).events().apply(new KvEventBatch(fake.id(), 7L, 0, true,
                List.of(new BlockChange.Stored(Medium.DEVICE, keys)), blockCount, digest.value()));
        assertThat(outcome).isInstanceOf(ApplyOutcome.Applied.class);
    }

    /** 64 hex digits: the name of all full blocks of a prompt. */
    protected static String lastBlockHash(int[] prompt) {
        var chain = BlockHashChain.of(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, prompt);
        return HexFormat.of().formatHex(chain.hash(chain.blockCount() - 1));
    }

    protected FleetWorker registered(FakeWorker fake) {
        return fleet.models().stream().flatMap(model -> fleet.workers(model).stream())
                .filter(worker -> worker.id().equals(fake.id())).findFirst().orElseThrow();
    }

    protected void loseLease(FakeWorker fake) {
        fleet.remove(registered(fake), "its lease ran out");
    }

    /** The ids that a text is made of, without a begin token. */
    protected static int[] ids(String text) {
        return TOKENIZER.encode(text, false);
    }

    /** Heap that requests in flight hold. */
    protected long heldBytes() {
        return admission.heldBytes();
    }

    protected int inFlight() {
        return admission.inFlight() + requestRouter.inFlight();
    }

    protected URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port + path);
    }

    protected int managementPort() {
        return managementPort;
    }

    protected HttpResponse<String> management(String path) {
        return send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort + path))
                .timeout(PATIENCE).build());
    }

    protected HttpResponse<String> get(String path) {
        return send(HttpRequest.newBuilder(uri(path)).timeout(PATIENCE).build());
    }

    protected HttpResponse<String> post(String path, String body) {
        return send(request(path, body));
    }

    protected HttpRequest request(String path, String body) {
        return HttpRequest.newBuilder(uri(path)).header("content-type", "application/json").timeout(PATIENCE)
                .POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))).build();
    }

    protected static HttpResponse<String> send(HttpRequest request) {
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    protected static JsonNode json(HttpResponse<String> response) {
        return JSON.readTree(response.body());
    }

    /** A completion request over a plain socket: a library would hide how the connection ends. */
    protected Socket rawClient(String body) throws IOException {
        var socket = new Socket("127.0.0.1", port);
        socket.getOutputStream().write(rawRequest(body));
        return socket;
    }

    /** @param body of ASCII, in which ' stands for " */
    protected static byte[] rawRequest(String body) {
        String json = body.replace('\'', '"');
        return ("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\n"
                + "content-type: application/json\r\ncontent-length: " + json.length() + "\r\n\r\n" + json)
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** All that comes until the router ends the connection. */
    protected String rawCompletion(String body) throws IOException {
        try (Socket socket = rawClient(body)) {
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** A stream that began well and was cut: its last event is this error, and nobody takes it for complete. */
    protected static void assertBroken(String rawStream, String code) {
        assertThat(rawStream).startsWith("HTTP/1.1 200 OK").doesNotContain("[DONE]");
        assertThat(JSON.readTree(events(rawStream).getLast()).path("error").path("code").asString()).isEqualTo(code);
        assertThat(rawStream).as("no last chunk").doesNotEndWith("0\r\n\r\n");
    }

    protected static String text(JsonNode completion) {
        return completion.path("choices").path(0).path("text").asString("");
    }

    /** The texts after {@code data: }, in order. */
    protected static List<String> events(String body) {
        return body.lines().filter(line -> line.startsWith("data: ")).map(line -> line.substring(6)).toList();
    }

    protected static void eventually(BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("the condition did not come true in time").isLessThan(deadline);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static byte[] resource(String name) {
        try (InputStream in = Objects.requireNonNull(RunningRouter.class.getResourceAsStream("/tokenizers/" + name))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
