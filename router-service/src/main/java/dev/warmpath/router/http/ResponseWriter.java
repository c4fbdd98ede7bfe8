package dev.warmpath.router.http;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes answers, whole or as server-sent events. Status and headers go out with the first byte: until then a failure
 * is an ordinary error answer, and a request that moves to another worker leaves no trace.
 *
 * <p>What writes a whole answer ends when the network has taken all of it: a client that does not read keeps its place
 * among the requests in flight, and the memory of its answer. A stream's place is free when its last event was drawn.
 */
@Component
public final class ResponseWriter {

    /** The answer, and its copy in the network's buffers. */
    private static final int MEMORY_PER_BYTE = 2;

    private static final int PIECE_BYTES = 16 << 10;

    private final ApiProperties properties;
    private final JsonMapper json;

    ResponseWriter(ApiProperties properties, JsonMapper json) {
        this.properties = properties;
        this.json = json;
    }

    /**
     * Writes an answer that was computed here.
     *
     * @param permit its request's
     * @param answer what JSON is made of
     * @return fails with {@link dev.warmpath.router.admission.OverloadedException} if there is no memory for it
     */
    public Mono<Void> write(ServerWebExchange exchange, Permit permit, Object answer) {
        byte[] bytes = json.writeValueAsBytes(answer);
        permit.holdMore((long) MEMORY_PER_BYTE * bytes.length);
        return writeJson(exchange.getResponse(), bytes);
    }

    /** The same for an answer that a worker has computed, which memory alone does not refuse. */
    public Mono<Void> writeInAnyCase(ServerWebExchange exchange, Permit permit, Object answer) {
        byte[] bytes = json.writeValueAsBytes(answer);
        permit.holdMoreInAnyCase((long) MEMORY_PER_BYTE * bytes.length);
        return writeJson(exchange.getResponse(), bytes);
    }

    /** What one answer's events are written with. */
    public SseEvents newEvents(ServerWebExchange exchange) {
        return new SseEvents(json, buffers(exchange.getResponse()).getByteBufAllocator());
    }

    /**
     * Writes a stream, see {@link SseStream}.
     *
     * @param answer    fails as any answer does
     * @param written   of {@link #newEvents}
     * @param words     writes there what follows from one event of the answer, maybe nothing
     * @param whenDrawn runs once, when the answer is over or is not wanted any more
     */
    public <E> Mono<Void> writeEvents(ServerWebExchange exchange, Flux<E> answer, SseEvents written,
            Consumer<E> words, Runnable whenDrawn) {
        ServerHttpResponse response = exchange.getResponse();
        HttpHeaders headers = response.getHeaders();
        headers.setContentType(MediaType.TEXT_EVENT_STREAM);
        headers.setCacheControl("no-cache");
        headers.set("x-accel-buffering", "no");
        leaveOutChunksForHttp10(exchange);
        var stream = new SseStream<>(words, written, buffers(response), HttpConnections.loopOf(exchange),
                properties.heartbeat(), whenDrawn);
        // Spring cancels nothing if the connection turns out to be closed when the first bytes are to be written: the
        // stream would wait for a reader that never comes
        return response.writeWith(stream.of(answer)).doFinally(_ -> stream.cancel());
    }

    private static NettyDataBufferFactory buffers(ServerHttpResponse response) {
        return (NettyDataBufferFactory) response.bufferFactory();
    }

    /** Such a client takes chunks for text: its answer ends with the connection. */
    private static void leaveOutChunksForHttp10(ServerWebExchange exchange) {
        HttpServerRequest request = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        if (request.version().equals(HttpVersion.HTTP_1_0)) {
            HttpServerResponse response = ServerHttpResponseDecorator.getNativeResponse(exchange.getResponse());
            response.chunkedTransfer(false);
        }
    }

    private static Mono<Void> writeJson(ServerHttpResponse response, byte[] bytes) {
        response.getHeaders().setContentType(MediaType.APPLICATION_JSON);
        response.getHeaders().setContentLength(bytes.length);
        if (bytes.length <= PIECE_BYTES) {
            return response.writeWith(Mono.just(response.bufferFactory().wrap(bytes)));
        }
        // a single buffer is handed over and called written; pieces are asked for as they are taken
        return response.writeWith(Flux.range(0, Math.ceilDiv(bytes.length, PIECE_BYTES))
                .map(i -> response.bufferFactory().wrap(ByteBuffer.wrap(bytes, i * PIECE_BYTES,
                        Math.min(PIECE_BYTES, bytes.length - i * PIECE_BYTES)).slice())));
    }
}
