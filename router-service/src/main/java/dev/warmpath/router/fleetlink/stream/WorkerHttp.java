package dev.warmpath.router.fleetlink.stream;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.handshake.WorkerHandshake;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.NettyPipeline;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientResponse;
import reactor.netty.resources.LoopResources;

/**
 * Blocking GET requests to workers, each on a connection of its own that begins with the {@link WorkerHandshake}: what
 * is read here comes from the worker that was meant. No redirects and no proxy: a worker is asked where it registered,
 * or nowhere. Has an event loop of its own, so that no request holds up what keeps the index in step.
 */
public final class WorkerHttp implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(WorkerHttp.class);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration FILE_READ_TIMEOUT = Duration.ofSeconds(5);
    /** All of it: the largest takes about so long at 10 Mbit/s. Another worker of the revision may be quicker. */
    private static final Duration LONGEST_FILE = Duration.ofSeconds(60);
    /** Longer than a worker waits for one step of its engine. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(70);
    /** Tables of the longest prompt take a tenth of it. */
    private static final int MAX_ANSWER_BYTES = 8 << 20;
    private static final int MAX_PROBLEM_BYTES = 4096;
    /** Of a worker's words in a message. */
    private static final int MAX_DETAIL_CHARS = 200;

    private final FleetToken token;
    private final Duration longestFile;
    private LoopResources loops;
    private HttpClient http;
    private boolean closed;

    public WorkerHttp(FleetToken token) {
        this(token, LONGEST_FILE);
    }

    /** @param longestFile how long a whole file may take */
    public WorkerHttp(FleetToken token, Duration longestFile) {
        this.token = token;
        this.longestFile = longestFile;
        this.loops = newLoop();
        this.http = newClient();
    }

    private static LoopResources newLoop() {
        return LoopResources.create("fleetlink", 1, true);
    }

    private HttpClient newClient() {
        return HttpClient.newConnection()
                .runOn(loops)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) CONNECT_TIMEOUT.toMillis())
                .doOnChannelInit((_, channel, _) ->
                        WorkerHandshake.addTo(channel, NettyPipeline.ReactiveBridge, token));
    }

    /** A loop that has died of an error serves nobody any more, and every copy of the index would age for ever. */
    private synchronized HttpClient http() {
        if (!closed && loop().isShuttingDown()) {
            log.error("the event loop that reads from workers has died, another one begins");
            loops.dispose();
            loops = newLoop();
            http = newClient();
        }
        return http;
    }

    public synchronized EventLoop loop() {
        return loops.onClient(LoopResources.DEFAULT_NATIVE).next();
    }

    /** The worker answered, but not with what was asked for. */
    public static final class WorkerAnswerException extends IOException {
        private static final long serialVersionUID = 1L;
        private final int status;

        WorkerAnswerException(int status, String body) {
            super("worker answered " + status + (body.isEmpty() ? "" : ": " + ForeignText.oneLine(body, MAX_DETAIL_CHARS)));
            this.status = status;
        }

        public int status() {
            return status;
        }
    }

    /** A whole answer of some kilobytes, whatever its status. */
    public record Answer(int status, byte[] body) {}

    /** The worker's event stream from a snapshot on; reads fail after {@link EventFrames#LONGEST_SILENCE}. */
    InputStream events(FleetWorker worker) {
        return new BodyStream(
                get(worker, Protocol.EVENTS_PATH + "?" + Protocol.EPOCH_PARAMETER + "=" + worker.epoch()),
                EventFrames.LONGEST_SILENCE);
    }

    /** Frames of the worker's pool, the first one whole; reads fail after {@link EventFrames#LONGEST_SILENCE}. */
    public InputStream pool(FleetWorker worker) {
        return new BodyStream(
                get(worker, Protocol.POOL_PATH + "?" + Protocol.EPOCH_PARAMETER + "=" + worker.epoch()),
                EventFrames.LONGEST_SILENCE);
    }

    /** Asks for something small, without waiting. Fails if it does not come in time, or is no answer. */
    public Mono<Answer> ask(FleetWorker worker, HttpMethod method, String path) {
        return http().headers(headers -> WorkerHandshake.nameWorker(headers, worker.id(), worker.epoch()))
                .request(method)
                .uri(worker.baseUrl().resolve(path))
                .response((response, content) -> content.asByteArray()
                        .reduceWith(ByteArrayOutputStream::new, WorkerHttp::bounded)
                        .map(body -> new Answer(response.status().code(), body.toByteArray())))
                .single()
                .timeout(ANSWER_TIMEOUT);
    }

    private static ByteArrayOutputStream bounded(ByteArrayOutputStream read, byte[] more) {
        if (read.size() + more.length > MAX_ANSWER_BYTES) {
            throw Exceptions.propagate(new IOException("the answer is longer than " + MAX_ANSWER_BYTES + " bytes"));
        }
        read.writeBytes(more);
        return read;
    }

    /**
     * A model file.
     *
     * @param sha256 its digest in hex
     * @throws IOException also if the content is longer than allowed, takes longer, or has another digest
     */
    public byte[] file(FleetWorker worker, String sha256) throws IOException {
        Mono<Long> tooLong = Mono.delay(longestFile).then(Mono.error(() -> new SocketTimeoutException(
                "file " + sha256 + " has not come within " + longestFile.toMillis() + " ms")));
        Flux<byte[]> body = get(worker, Protocol.FILES_PATH + sha256).takeUntilOther(tooLong);
        try (InputStream in = new BodyStream(body, FILE_READ_TIMEOUT)) {
            byte[] content = in.readNBytes(Protocol.MAX_FILE_BYTES + 1);
            if (content.length > Protocol.MAX_FILE_BYTES) {
                throw new IOException("file " + sha256 + " is longer than " + Protocol.MAX_FILE_BYTES + " bytes");
            }
            String actual = sha256(content);
            if (!actual.equals(sha256)) {
                throw new IOException("file " + sha256 + " arrived with digest " + actual);
            }
            return content;
        }
    }

    private Flux<byte[]> get(FleetWorker worker, String path) {
        return http().headers(headers -> WorkerHandshake.nameWorker(headers, worker.id(), worker.epoch()))
                .get()
                .uri(worker.baseUrl().resolve(path))
                .response((response, content) -> response.status().code() == HttpResponseStatus.OK.code()
                        ? content.asByteArray() : refusal(response, content));
    }

    private static Flux<byte[]> refusal(HttpClientResponse response, ByteBufFlux content) {
        return content.asByteArray()
                .scan(new byte[0], WorkerHttp::upTo)
                .takeUntil(read -> read.length >= MAX_PROBLEM_BYTES)
                .last()
                .flatMapMany(read -> Flux.error(new WorkerAnswerException(
                        response.status().code(), new String(read, StandardCharsets.UTF_8))));
    }

    private static byte[] upTo(byte[] read, byte[] more) {
        int kept = Math.min(more.length, MAX_PROBLEM_BYTES - read.length);
        byte[] both = Arrays.copyOf(read, read.length + kept);
        System.arraycopy(more, 0, both, read.length, kept);
        return both;
    }

    /** Whether the address was there and nobody listened; the one failure that says that the worker is gone. */
    public static boolean isRefusal(IOException failure) {
        String message = failure.getMessage();
        return failure instanceof ConnectException && message != null && message.contains("refused");
    }

    @Override
    public synchronized void close() {
        closed = true;
        loops.dispose();
    }

    private static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
