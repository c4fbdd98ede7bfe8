package dev.warmpath.router.openai;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.completion.CompletionRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs a completion and writes its answer, whole or as server-sent events. Status and headers go out with the first
 * byte: until then a failure is an ordinary error answer, and a request that moves to another worker leaves no trace.
 *
 * <p>What writes a whole answer ends when the network has taken all of it: a client that does not read keeps its place
 * among the requests in flight, and the memory of its answer. A stream's place is free when its last event was drawn.
 */
@Component
final class AnswerWriter {

    /** The answer, and its copy in the network's buffers. */
    private static final int MEMORY_PER_BYTE = 2;

    private static final int PIECE_BYTES = 16 << 10;

    private final CompletionFlow flow;
    private final OpenAiProperties properties;
    private final InstantSource time;
    private final JsonMapper json;

    AnswerWriter(CompletionFlow flow, OpenAiProperties properties, InstantSource answerTime, JsonMapper json) {
        this.flow = flow;
        this.properties = properties;
        this.time = answerTime;
        this.json = json;
    }

    Mono<Void> writeWhole(
            ServerWebExchange exchange, CompletionRequest request, Permit permit, AnswerFormat format) {
        ServerHttpResponse response = exchange.getResponse();
        var decision = DecisionHeaders.of(response, properties.decisionHeaders());
        return flow.complete(request, permit)
                .doOnNext(decision::note)
                .collect(WholeAnswer::new, WholeAnswer::add)
                .map(answer -> answer.body(format, headOf(request, format)))
                .flatMap(body -> {
                    byte[] bytes = json.writeValueAsBytes(body);
                    permit.holdMoreInAnyCase((long) MEMORY_PER_BYTE * bytes.length);
                    return writeJson(response, bytes);
                });
    }

    /**
     * Writes an answer that was computed here.
     *
     * @param permit its request's
     * @return fails with {@link dev.warmpath.router.admission.OverloadedException} if there is no memory for it
     */
    Mono<Void> write(ServerWebExchange exchange, Permit permit, Object answer) {
        byte[] bytes = json.writeValueAsBytes(answer);
        permit.holdMore((long) MEMORY_PER_BYTE * bytes.length);
        return writeJson(exchange.getResponse(), bytes);
    }

    Mono<Void> writeStream(ServerWebExchange exchange, CompletionRequest request, Permit permit, AnswerFormat format,
            boolean includeUsage) {
        ServerHttpResponse response = exchange.getResponse();
        HttpHeaders headers = response.getHeaders();
        headers.setContentType(MediaType.TEXT_EVENT_STREAM);
        headers.setCacheControl("no-cache");
        headers.set("x-accel-buffering", "no");
        leaveOutChunksForHttp10(exchange);
        var decision = DecisionHeaders.of(response, properties.decisionHeaders());
        var answer = new SseAnswer(json, format, headOf(request, format), includeUsage);
        // little of a stream is ever on its way, and where its reader has stopped that may last
        Flux<CompletionEvent> completion =
                Flux.using(() -> permit, _ -> flow.complete(request, permit), Permit::close);
        Flux<byte[]> events = completion.doOnNext(decision::note).handle(answer::accept);
        return write(response, new OpenStream(properties.heartbeat(), answer::error).of(events));
    }

    /** Such a client takes chunks for text: its answer ends with the connection. */
    private static void leaveOutChunksForHttp10(ServerWebExchange exchange) {
        HttpServerRequest request = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        if (request.version().equals(HttpVersion.HTTP_1_0)) {
            HttpServerResponse response = ServerHttpResponseDecorator.getNativeResponse(exchange.getResponse());
            response.chunkedTransfer(false);
        }
    }

    /**
     * Cancels the stream whenever writing it is over. Spring does not if the connection turns out to be closed when the
     * first bytes are to be written: the stream would wait for a reader that never comes.
     */
    private static Mono<Void> write(ServerHttpResponse response, Flux<byte[]> stream) {
        var source = new AtomicReference<>(Operators.emptySubscription());
        return response.writeWith(stream.doOnSubscribe(source::set).map(bytes -> response.bufferFactory().wrap(bytes)))
                .doFinally(_ -> source.get().cancel());
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

    private AnswerFormat.HeadOf headOf(CompletionRequest request, AnswerFormat format) {
        String id = format.idPrefix() + RequestIdFilter.newId();
        long created = time.instant().getEpochSecond();
        return revision -> new AnswerFormat.Head(id, created, request.model(), revision);
    }
}
