package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.PackedRequest;
import dev.warmpath.router.dispatch.Dispatcher.Reader;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.handshake.WorkerHandshake;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.netty.NettyPipeline;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Speaks the generate protocol: one POST, its answer a stream of NDJSON events. The connections are here; what happens
 * on one of them is told by {@link WorkerExchange}.
 */
@Component
final class WorkerClient implements DisposableBean {

    private static final Logger log = LoggerFactory.getLogger(WorkerClient.class);
    private static final Duration POOL_WAIT = Duration.ofSeconds(2);
    private static final Duration STOP_ANSWER = Duration.ofSeconds(2);
    private static final Duration MAX_IDLE = Duration.ofSeconds(20);
    /** A restarted worker has another address: the pool of the old one goes. */
    private static final Duration POOL_CHECK = Duration.ofSeconds(30);
    private static final Duration POOL_INACTIVITY = Duration.ofMinutes(1);
    private static final int MAX_WAITING_FOR_CONNECTION = 16;

    private final ConnectionProvider connections;
    private final HttpClient generate;
    /** By event loop, of which a process has few: the same, with connections of that loop only. */
    private final Map<EventLoop, HttpClient> generateOn = new ConcurrentHashMap<>();
    private final HttpClient stop;
    private final Duration interTokenTimeout;
    private final JsonMapper json;
    private final WorkerFailures failures;
    private final RouterId self;

    WorkerClient(DispatchProperties properties, FleetToken token, RouterId self) {
        this.self = self;
        this.interTokenTimeout = properties.interTokenTimeout();
        // a newer worker may say more about an event than we know
        this.json = JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
        this.failures = new WorkerFailures(json);
        this.connections = ConnectionProvider.builder("workers")
                .maxConnections(properties.maxConnectionsPerWorker())
                .pendingAcquireMaxCount(MAX_WAITING_FOR_CONNECTION)
                .pendingAcquireTimeout(POOL_WAIT)
                .maxIdleTime(MAX_IDLE)
                .evictInBackground(MAX_IDLE)
                .disposeInactivePoolsInBackground(POOL_CHECK, POOL_INACTIVITY)
                .build();
        HttpClient http = HttpClient.create(connections)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) properties.connectTimeout().toMillis())
                .doOnChannelInit((_, channel, _) ->
                        WorkerHandshake.addTo(channel, NettyPipeline.ReactiveBridge, token));
        this.generate = http.headers(headers -> headers.set(HttpHeaderNames.ACCEPT, "application/x-ndjson"));
        this.stop = http.responseTimeout(STOP_ANSWER);
    }

    /**
     * The events of one generation, ending with finished or failed. Anything else is an error. Reads only as fast as
     * its reader asks; cancelling closes the connection, which tells the worker to stop. Signals come on the reader's
     * {@link HomeLoop}, if it has one.
     *
     * @param request    without epoch, handle and router
     * @param trace      headers that tell whose work it is
     * @param firstToken longest silence before the first token
     * @param taker      asked after each event, on the thread that delivered it: of what it has enough, the worker is
     *                   asked to end that choice, and its last words are what still comes of it
     * @return fails with {@link DispatchException}: {@link DispatchFailure.WorkerLost} with the broken connection as its
     *         cause if that is what it was, or any other of a worker's failures
     */
    Flux<GenerateEvent> generate(FleetWorker worker, GenerateRequest request, Map<String, String> trace,
            Duration firstToken, Reader taker) {
        return Flux.from(reader -> {
            String handle = UUID.randomUUID().toString().replace("-", "");
            URI address = worker.baseUrl().resolve(Protocol.GENERATE_PATH);
            URI generation = address.resolve(Protocol.GENERATE_PATH + "/" + handle);
            var terms = new WorkerExchange.Terms(worker, body(worker, request.forWorker(worker.epoch(), handle, self)),
                    firstToken, interTokenTimeout, taker::hasEnough, choice -> stop(worker, request.choices() == 1
                            ? generation : URI.create(generation + "?" + Protocol.CHOICE_PARAMETER + "=" + choice)));
            var check = new AnswerCheck(request, worker.model().vocabularySize());
            @Nullable EventLoop home = HomeLoop.of(Operators.toCoreSubscriber(reader).currentContext());
            HttpClient http = home == null ? generate : generateOn.computeIfAbsent(home, generate::runOn);
            new WorkerExchange(terms, new EventLines(json), check, failures, reader)
                    .start(to(worker, http, trace).headers(headers -> headers.set(HttpHeaderNames.CONTENT_TYPE,
                            worker.takesPackedPrompts() ? PackedRequest.CONTENT_TYPE : "application/json"))
                            .post().uri(address));
        });
    }

    private byte[] body(FleetWorker worker, GenerateRequest request) {
        return worker.takesPackedPrompts()
                ? PackedRequest.pack(json.writeValueAsBytes(PackedRequest.Head.of(request)), request.promptTokens())
                : json.writeValueAsBytes(request);
    }

    /** Whether it worked is seen in the generation's own answer. */
    private void stop(FleetWorker worker, URI generation) {
        to(worker, stop, Map.of()).delete().uri(generation)
                .responseSingle((_, body) -> body.then())
                .subscribe(null, e -> log.debug("{} could not be ended early", generation, e));
    }

    private static HttpClient to(FleetWorker worker, HttpClient http, Map<String, String> trace) {
        return http.headers(headers -> {
            WorkerHandshake.nameWorker(headers, worker.id(), worker.epoch());
            trace.forEach(headers::set);
        });
    }

    @Override
    public void destroy() {
        connections.disposeLater().block(POOL_WAIT);
    }
}
