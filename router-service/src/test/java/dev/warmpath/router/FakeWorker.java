package dev.warmpath.router;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.pool.PoolCodec;
import dev.warmpath.protocol.pool.PoolFrame;
import io.netty.buffer.Unpooled;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * Another process, as far as the router can tell: speaks the real generate protocol on a real port and says what its
 * script says, in place of what a model would.
 */
public final class FakeWorker implements AutoCloseable {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** Of all fake workers, by handle: completed when that generation is to end. */
    private static final ConcurrentHashMap<String, Sinks.Empty<Void>> STOPS = new ConcurrentHashMap<>();
    /** What asks a generation to end has this of its path and query. */
    private final BlockingQueue<String> stops = new LinkedBlockingQueue<>();

    /** As {@link RunningRouter} registers it. */
    private static final long EPOCH = 7;

    /** What the worker does with a request. */
    @FunctionalInterface
    public interface Script {
        Publisher<Void> answer(GenerateRequest request, HttpServerResponse response);
    }

    private final String id;
    private final DisposableServer server;
    private final BlockingQueue<GenerateRequest> requests = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> traceparents = new LinkedBlockingQueue<>();
    private final AtomicInteger openConnections = new AtomicInteger();
    private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final AtomicInteger acceptedConnections = new AtomicInteger();
    private final AtomicInteger generations = new AtomicInteger();
    private volatile Script script = finishing(FinishReason.LENGTH, 0);
    /** By method and path below that of the pool; what is not here is answered with 404. */
    private final Map<String, Function<HttpServerResponse, Publisher<Void>>> poolAnswers = new ConcurrentHashMap<>();

    public FakeWorker(String id) {
        this.id = id;
        this.server = HttpServer.create().host("127.0.0.1").port(0)
                .doOnChannelInit((_, channel, _) -> {
                    openConnections.incrementAndGet();
                    acceptedConnections.incrementAndGet();
                    connections.add(channel);
                    channel.closeFuture().addListener(_ -> openConnections.decrementAndGet());
                })
                .route(routes -> routes.post(Protocol.GENERATE_PATH, this::generate)
                        .get(Protocol.HANDSHAKE_PATH, this::shakeHands)
                        .route(request -> request.uri().startsWith(Protocol.POOL_PATH), this::pool)
                        .delete(Protocol.GENERATE_PATH + "/{handle}", (request, response) -> {
                            stops.add(request.uri().replaceFirst(".*/[^?]*", ""));
                            return response.status(STOPS.computeIfAbsent(request.param("handle"), _ -> Sinks.empty())
                                    .tryEmitEmpty().isSuccess() ? 204 : 404).send();
                        }))
                .bindNow();
    }

    public String id() {
        return id;
    }

    public URI baseUrl() {
        return URI.create("http://127.0.0.1:" + server.port());
    }

    public FakeWorker doing(Script next) {
        script = next;
        return this;
    }

    /** What it says of its pool. @param asked method and path below that of the pool, such as {@code POST /step} */
    public FakeWorker showing(String asked, Function<HttpServerResponse, Publisher<Void>> answer) {
        poolAnswers.put(asked, answer);
        return this;
    }

    /** Frames of its pool, as they come. */
    public static Function<HttpServerResponse, Publisher<Void>> frames(Flux<PoolFrame> frames) {
        return response -> response.send(frames.map(PoolCodec::encode).map(payload -> Unpooled.wrappedBuffer(
                ByteBuffer.allocate(4 + payload.length).putInt(payload.length).put(payload).flip())), _ -> true);
    }

    /** Requests that have come and were not asked about yet, in order. */
    public BlockingQueue<GenerateRequest> requests() {
        return requests;
    }

    /** The queries of those that asked it to end something, in order; mostly empty. */
    public BlockingQueue<String> stops() {
        return stops;
    }

    /** Of requests that have come and were not asked about yet, in order; empty if there was none. */
    public BlockingQueue<String> traceparents() {
        return traceparents;
    }

    public int openConnections() {
        return openConnections.get();
    }

    /** Open or not. */
    public int acceptedConnections() {
        return acceptedConnections.get();
    }

    /** Begun and neither ended nor cancelled. */
    public int generations() {
        return generations.get();
    }

    /** From now on connections are refused, and those that are open break. */
    @Override
    public void close() {
        server.disposeNow(Duration.ofSeconds(5));
        connections.close().awaitUninterruptibly();
    }

    /** Draws these tokens one by one and ends well, having found {@code cachedTokens} of the prompt. */
    public static Script finishing(FinishReason reason, int cachedTokens, int... ids) {
        return (request, response) -> send(response, Flux.fromIterable(tokenLines(ids))
                .concatWithValues(line(finished(request, reason, cachedTokens, ids.length))));
    }

    /** Draws these tokens, one each tick, and then says nothing more. */
    public static Script hangingAfter(int... ids) {
        return (_, response) -> send(response, Flux.fromIterable(tokenLines(ids)).concatWith(Flux.never()));
    }

    /** Draws the first of these tokens, waits for {@code goOn} to end, draws the others and ends well. */
    public static Script pausing(Mono<?> goOn, int... ids) {
        List<String> lines = tokenLines(ids);
        return (request, response) -> send(response, Flux.just(lines.getFirst())
                .concatWith(Flux.fromIterable(lines.subList(1, lines.size())).delaySubscription(goOn))
                .concatWithValues(line(finished(request, FinishReason.LENGTH, 0, ids.length))));
    }

    /** Draws the first of these tokens at once and the others when it is told to go on, and ends well. */
    public static Script pausingUntil(Mono<Void> goOn, int... ids) {
        List<String> lines = tokenLines(ids);
        return (request, response) -> send(response, Flux.just(lines.getFirst())
                .concatWith(goOn.thenMany(Flux.fromIterable(lines.subList(1, lines.size()))))
                .concatWithValues(line(finished(request, FinishReason.LENGTH, 0, ids.length))));
    }

    /** Draws these tokens, ends well, and never closes its answer. */
    public static Script finishingWithoutEndOfBody(int... ids) {
        return (request, response) -> send(response, Flux.fromIterable(tokenLines(ids))
                .concatWithValues(line(finished(request, FinishReason.LENGTH, 0, ids.length)))
                .concatWith(Flux.never()));
    }

    /** Does the same, later. */
    public static Script after(Duration silence, Script script) {
        return (request, response) -> Mono.delay(silence).thenMany(Flux.from(script.answer(request, response)));
    }

    /** Draws one token as often as it may, one each millisecond, and then says nothing more. */
    public static Script drawing(int id) {
        return (request, response) -> send(response, Flux.interval(Duration.ofMillis(1)).onBackpressureDrop()
                .take(request.stop().maxTokens()).map(_ -> line(tokens(id))).concatWith(Flux.never()));
    }

    /** Draws one token as often as it may, as fast as somebody reads, half a kilobyte each, and ends well. */
    public static Script drawingAsFastAsItIsRead(int id, AtomicInteger drawn) {
        return (request, response) -> send(response, Flux.range(1, request.stop().maxTokens())
                .doOnNext(drawn::set).map(_ -> line(tokens(id)).replace("}", ",\"later\":\"" + "x".repeat(500) + "\"}"))
                .concatWithValues(line(finished(request, FinishReason.LENGTH, 0, request.stop().maxTokens()))));
    }

    /** Draws these tokens, and dies in the middle of the next line. */
    public static Script dyingAfter(int... ids) {
        return (_, response) -> send(response, Flux.fromIterable(tokenLines(ids))
                .concatWithValues("{\"type\":\"tokens\",\"ind")
                .concatWith(Mono.delay(Duration.ofMillis(50)).then(Mono.error(new IOException("killed")))));
    }

    /** Draws these tokens, waits until it is asked to end, and ends well. */
    public static Script drawingUntilAskedToEnd(int cachedTokens, int... ids) {
        return (request, response) -> send(response, Flux.fromIterable(tokenLines(ids))
                .concatWith(STOPS.computeIfAbsent(request.handle(), _ -> Sinks.empty()).asMono()
                        .then(Mono.just(line(finished(request, FinishReason.STOP, cachedTokens, ids.length))))));
    }

    /** Draws these tokens and ends the answer, but not the generation. */
    public static Script endingEarlyAfter(int... ids) {
        return (_, response) -> send(response, Flux.fromIterable(tokenLines(ids)));
    }

    /** Draws these tokens and gives up. */
    public static Script failingAfter(FailureReason reason, String message, int... ids) {
        return (_, response) -> send(response, Flux.fromIterable(tokenLines(ids))
                .concatWithValues(line(new GenerateEvent.Failed(reason, message))));
    }

    /** Refuses before the first event. */
    public static Script refusing(int status, FailureReason reason, String detail) {
        var problem = JSON.createObjectNode().put("status", status).put("detail", detail);
        problem.set("reason", JSON.valueToTree(reason));
        return answering(status, JSON.writeValueAsString(problem));
    }

    public static Script answering(int status, String body) {
        return (_, response) -> response.status(status).sendString(Mono.just(body));
    }

    /** Sends these texts as they are and when they come. */
    public static Script sending(Flux<String> texts) {
        return (_, response) -> send(response, texts);
    }

    /** These lines as they are, in chunks of one byte, to cut characters and lines everywhere. */
    public static Script bytewise(String lines) {
        return (_, response) -> send(response, Flux.fromStream(lines.chars().mapToObj(Character::toString)));
    }

    public static String line(GenerateEvent event) {
        return JSON.writeValueAsString(event) + "\n";
    }

    public static GenerateEvent.Tokens tokens(int... ids) {
        return new GenerateEvent.Tokens(0, ids, null);
    }

    public static GenerateEvent.Finished finished(
            GenerateRequest request, FinishReason reason, int cachedTokens, int completionTokens) {
        return new GenerateEvent.Finished(reason,
                new GenerateEvent.Usage(request.promptTokens().length, cachedTokens, completionTokens));
    }

    private static List<String> tokenLines(int[] ids) {
        List<String> lines = new ArrayList<>();
        Arrays.stream(ids).forEach(id -> lines.add(line(tokens(id))));
        return lines;
    }

    private static Publisher<Void> send(HttpServerResponse response, Flux<String> lines) {
        return response.header("content-type", "application/x-ndjson")
                .send(lines.map(line -> Unpooled.copiedBuffer(line, StandardCharsets.UTF_8)), _ -> true);
    }

    /** As who has the token {@code hush}; asked only by a router that has one. */
    private Publisher<Void> shakeHands(HttpServerRequest request, HttpServerResponse response) {
        var said = new Handshake(request.requestHeaders().get(Handshake.NONCE_HEADER), "0".repeat(32), id, EPOCH);
        return response.status(204).header(Handshake.NONCE_HEADER, said.workerNonce())
                .header(Handshake.WORKER_HEADER, id).header(Handshake.EPOCH_HEADER, Long.toString(EPOCH))
                .header(Handshake.PROOF_HEADER, said.workerProof(FleetToken.of("hush"))).send();
    }

    private Publisher<Void> pool(HttpServerRequest request, HttpServerResponse response) {
        String path = request.uri().substring(Protocol.POOL_PATH.length()).replaceFirst("\\?.*", "");
        var known = poolAnswers.get((request.method() + " " + path).strip());
        return known == null ? response.status(404).send() : known.apply(response);
    }

    private Publisher<Void> generate(HttpServerRequest request, HttpServerResponse response) {
        return request.receive().aggregate().asByteArray()
                .map(body -> JSON.readValue(body, GenerateRequest.class))
                .doOnNext(read -> {
                    traceparents.add(Objects.requireNonNullElse(request.requestHeaders().get("traceparent"), ""));
                    requests.add(read);
                })
                .flatMapMany(read -> Flux.from(script.answer(read, response))
                        .doOnSubscribe(_ -> generations.incrementAndGet())
                        .doFinally(_ -> generations.decrementAndGet()))
                .then();
    }
}
