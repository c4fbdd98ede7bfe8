package dev.warmpath.router.fleetlink;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.router.fleet.TestWorkers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A worker's HTTP side with a real model's text files, whose event stream does what a test tells it to. */
public final class FakeWorker implements AutoCloseable {

    public static final byte[] END_OF_STREAM = new byte[0];
    private static final byte[] TOKENIZER = TestWorkers.resource("byte-level.json");
    private static final byte[] TOKENIZER_CONFIG = TestWorkers.resource("tokenizer_config.json");

    private static final RevisionParts PARTS = new RevisionParts("a".repeat(64), "", sha256(TOKENIZER),
            sha256(TOKENIZER_CONFIG), "", "sha256_cbor", "0", 16, 2_048);
    private static final byte[] CHAT_TEMPLATE = "of a file: {{ messages|length }}".getBytes(StandardCharsets.UTF_8);
    /** All fake workers serve the same files, but for the chat template. */
    public static final String REVISION = PARTS.revision();

    public final KeySet announced = new KeySet();
    public final BlockingQueue<byte[]> frames = new LinkedBlockingQueue<>();
    public final AtomicInteger streams = new AtomicInteger();
    public volatile boolean hasChatTemplate;
    public volatile boolean corruptsFiles;
    public volatile boolean tricklesFiles;
    public volatile String eventProblem = "";
    public volatile int eventStatus = 200;
    public volatile boolean sendsGarbage;
    public volatile boolean endsAtOnce;
    public volatile int hostBlocks;
    public volatile int eventStreams;
    private final String id;
    private final long epoch;
    private final HttpServer server;
    private long sequence;

    public FakeWorker(String id, long epoch) throws IOException {
        this.id = id;
        this.epoch = epoch;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext(Protocol.HANDSHAKE_PATH, this::shakeHands);
        server.createContext(Protocol.FILES_PATH, this::file);
        server.createContext(Protocol.EVENTS_PATH, this::events);
        server.start();
    }

    public Registration registration() {
        return new Registration(Protocol.VERSION, id, epoch,
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                new ModelDescription("tiny", parts().revision(), parts(), 1_000, 512), 1_000, 8, true, hostBlocks,
                eventStreams);
    }

    private RevisionParts parts() {
        return !hasChatTemplate ? PARTS : new RevisionParts(PARTS.weights(), PARTS.config(), PARTS.tokenizer(),
                PARTS.tokenizerConfig(), PARTS.generationConfig(), PARTS.hashAlgorithm(), PARTS.hashSeed(),
                PARTS.blockSize(), PARTS.contextLength(), sha256(CHAT_TEMPLATE));
    }

    /** Of the log that it writes to. */
    public int streamCount() {
        return eventStreams == 0 ? RedisLayout.DEFAULT_STREAM_COUNT : eventStreams;
    }

    /** The next batch, not sent. */
    public byte[] store(long... keys) {
        return EventFrames.encode(next(keys));
    }

    /** The next batch, told to nobody. */
    public synchronized KvEventBatch next(long... keys) {
        BlockChange change = new BlockChange.Stored(Medium.DEVICE, keys);
        announced.apply(change);
        sequence++;
        return new KvEventBatch(id, epoch, sequence, false, List.of(change), announced.size(), announced.digest());
    }

    /** What the worker would say about itself now. */
    public synchronized Heartbeat heartbeat() {
        return new Heartbeat(id, epoch, 0, 0, 1_000, 0, sequence, announced.size(), announced.digest());
    }

    public synchronized long sequence() {
        return sequence;
    }

    public synchronized long digest() {
        return announced.digest();
    }

    public synchronized KvEventBatch snapshot() {
        return new KvEventBatch(id, epoch, sequence, true,
                List.of(new BlockChange.Stored(Medium.DEVICE, announced.toArray())), announced.size(),
                announced.digest());
    }

    /** As who has the token {@code hush}; whether the router has it is for the worker's own tests. */
    private void shakeHands(HttpExchange exchange) throws IOException {
        var said = new Handshake(exchange.getRequestHeaders().getFirst(Handshake.NONCE_HEADER), "0".repeat(32), id,
                epoch);
        try (exchange) {
            exchange.getResponseHeaders().set(Handshake.NONCE_HEADER, said.workerNonce());
            exchange.getResponseHeaders().set(Handshake.WORKER_HEADER, id);
            exchange.getResponseHeaders().set(Handshake.EPOCH_HEADER, Long.toString(epoch));
            exchange.getResponseHeaders().set(Handshake.PROOF_HEADER, said.workerProof(FleetToken.of("hush")));
            exchange.sendResponseHeaders(204, -1);
        }
    }

    private void file(HttpExchange exchange) throws IOException {
        String digest = exchange.getRequestURI().getPath().substring(Protocol.FILES_PATH.length());
        byte[] content = Map.of(sha256(TOKENIZER), TOKENIZER, sha256(TOKENIZER_CONFIG), TOKENIZER_CONFIG,
                sha256(CHAT_TEMPLATE), CHAT_TEMPLATE).get(digest);
        try (exchange) {
            if (content == null) {
                exchange.sendResponseHeaders(404, -1);
                return;
            }
            byte[] sent = content.clone();
            sent[sent.length - 1] ^= (byte) (corruptsFiles ? 1 : 0);
            exchange.sendResponseHeaders(200, sent.length);
            int at = 0;
            for (; tricklesFiles && at < sent.length; at++) {
                exchange.getResponseBody().write(sent[at]);
                exchange.getResponseBody().flush();
                Thread.sleep(20);
            }
            exchange.getResponseBody().write(sent, at, sent.length - at);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void events(HttpExchange exchange) throws IOException {
        streams.incrementAndGet();
        try (exchange) {
            if (eventStatus != 200) {
                byte[] problem = eventProblem.getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(eventStatus, problem.length == 0 ? -1 : problem.length);
                exchange.getResponseBody().write(problem);
                return;
            }
            frames.clear();
            exchange.sendResponseHeaders(200, 0);
            byte[] first = EventFrames.encode(snapshot());
            first[EventFrames.HEADER_BYTES] ^= (byte) (sendsGarbage ? 0x7f : 0);       // another version of the format
            exchange.getResponseBody().write(first);
            exchange.getResponseBody().flush();
            byte[] next = endsAtOnce ? END_OF_STREAM : nextFrame();
            while (next != END_OF_STREAM) {
                exchange.getResponseBody().write(next);
                exchange.getResponseBody().flush();
                next = nextFrame();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private byte[] nextFrame() throws InterruptedException {
        byte[] frame = frames.poll(100, TimeUnit.MILLISECONDS);
        return frame == null ? EventFrames.keepAlive() : frame;
    }

    private static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
