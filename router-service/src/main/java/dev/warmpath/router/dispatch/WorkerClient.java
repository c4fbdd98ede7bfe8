package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.handshake.WorkerHandshake;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.core.codec.DecodingException;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.http.codec.json.JacksonJsonDecoder;
import org.springframework.http.codec.json.JacksonJsonEncoder;
import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.NettyPipeline;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.resources.ConnectionProvider;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Speaks the generate protocol: one POST, its answer a stream of NDJSON events. Reads only as fast as its reader asks;
 * cancelling closes the connection, which tells the worker to stop. A stream that ends well gives its connection back.
 */
@Component
final class WorkerClient implements DisposableBean {

    /** A line carries the tokens of one step. */
    private static final int MAX_LINE_BYTES = 256 << 10;
    private static final Duration POOL_WAIT = Duration.ofSeconds(2);
    private static final Duration MAX_IDLE = Duration.ofSeconds(20);
    /** A restarted worker has another address: the pool of the old one goes. */
    private static final Duration POOL_CHECK = Duration.ofSeconds(30);
    private static final Duration POOL_INACTIVITY = Duration.ofMinutes(1);
    private static final int MAX_WAITING_FOR_CONNECTION = 16;

    private final ConnectionProvider connections;
    private final WebClient http;
    private final JsonMapper json;

    WorkerClient(DispatchProperties properties, FleetToken token) {
        // a newer worker may say more about an event than we know
        this.json = JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
        this.connections = ConnectionProvider.builder("workers")
                .maxConnections(properties.maxConnectionsPerWorker())
                .pendingAcquireMaxCount(MAX_WAITING_FOR_CONNECTION)
                .pendingAcquireTimeout(POOL_WAIT)
                .maxIdleTime(MAX_IDLE)
                .evictInBackground(MAX_IDLE)
                .disposeInactivePoolsInBackground(POOL_CHECK, POOL_INACTIVITY)
                .build();
        var client = HttpClient.create(connections)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) properties.connectTimeout().toMillis())
                .doOnChannelInit((_, channel, _) ->
                        WorkerHandshake.addTo(channel, NettyPipeline.ReactiveBridge, token));
        this.http = WebClient.builder()
                .clientConnector(new ReactorClientHttpConnector(client))
                .codecs(codecs -> {
                    codecs.defaultCodecs().jacksonJsonDecoder(new JacksonJsonDecoder(json));
                    codecs.defaultCodecs().jacksonJsonEncoder(new JacksonJsonEncoder(json));
                    codecs.defaultCodecs().maxInMemorySize(MAX_LINE_BYTES);
                })
                .build();
    }

    /**
     * The events of one generation, ending with finished or failed. Anything else is an error.
     *
     * @return fails with {@link DispatchException}: {@link Refused} or {@link WorkerLost}, the latter with the broken
     *         connection as its cause if that is what it was
     */
    Flux<GenerateEvent> generate(FleetWorker worker, GenerateRequest request) {
        return Flux.defer(() -> generate(worker, request, new AtomicReference<>()));
    }

    private Flux<GenerateEvent> generate(FleetWorker worker, GenerateRequest request, AtomicReference<Channel> channel) {
        return http.post()
                .uri(worker.baseUrl().resolve(Protocol.GENERATE_PATH))
                .contentType(MediaType.APPLICATION_JSON)
                .accept(MediaType.APPLICATION_NDJSON)
                .header(Handshake.WORKER_HEADER, worker.id())
                .header(Handshake.EPOCH_HEADER, Long.toString(worker.epoch()))
                .httpRequest(sent -> channel.set(channelOf(sent)))
                .bodyValue(request)
                .exchangeToFlux(response -> response.statusCode().is2xxSuccessful()
                        ? response.bodyToFlux(GenerateEvent.class)
                        : refusal(worker, response).flux())
                // cancelled just when the response comes, Spring's connector would read it to its end, and the worker
                // would compute all of it
                .doOnCancel(() -> close(channel.get()))
                .onErrorMap(e -> asDispatchException(worker, e));
    }

    private static Channel channelOf(ClientHttpRequest request) {
        HttpClientRequest netty = request.getNativeRequest();
        return ((Connection) netty).channel();
    }

    /** @param channel null if the request was not sent yet; then there is nothing to close */
    private static void close(@Nullable Channel channel) {
        if (channel != null) {
            channel.close();
        }
    }

    @Override
    public void destroy() {
        connections.disposeLater().block(POOL_WAIT);
    }

    /** The worker's problem body as an error; of a stranger's answer, the status alone counts. */
    private Mono<GenerateEvent> refusal(FleetWorker worker, ClientResponse response) {
        return response.bodyToMono(String.class).defaultIfEmpty("")
                .flatMap(body -> Mono.error(new DispatchException(readRefusal(worker, response.statusCode(), body))));
    }

    private Refused readRefusal(FleetWorker worker, HttpStatusCode status, String body) {
        try {
            JsonNode problem = json.readTree(body);
            var reason = json.treeToValue(problem.required("reason"), FailureReason.class);
            return new Refused(worker.id(), reason, problem.path("detail").asString(reason.toString()));
        } catch (JacksonException e) {
            return new Refused(worker.id(), FailureReason.ENGINE_FAILURE,
                    "the worker '" + worker.id() + "' answered with status " + status.value());
        }
    }

    private static DispatchException asDispatchException(FleetWorker worker, Throwable error) {
        Throwable cause = Exceptions.unwrap(error);
        if (cause instanceof DispatchException known) {
            return known;
        }
        for (Throwable e = cause; e != null; e = e.getCause()) {
            if (e instanceof IOException) {
                return new DispatchException(new WorkerLost(worker.id(), e.toString()), e);
            }
        }
        if (cause instanceof WebClientRequestException) {
            // no network in it, so it is the connection pool that said no
            return new DispatchException(new Refused(worker.id(), FailureReason.QUEUE_FULL,
                    "all connections to the worker '" + worker.id() + "' are taken"), cause);
        }
        String detail = cause instanceof DecodingException ? "sent no valid event: " + cause.getMessage()
                : cause.toString();
        return new DispatchException(new WorkerLost(worker.id(), detail));
    }
}
