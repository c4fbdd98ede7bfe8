package dev.warmpath.router.openai;

import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.ComputationPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.BiFunction;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.stereotype.Component;
import org.springframework.util.FastByteArrayOutputStream;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Reads a request's body as JSON. First a place and the memory for it, then the body: gathered on the heap, since what
 * clients have not sent whole must not fill the network's buffers, and parsed off the event loops if it is long.
 */
@Component
final class RequestBodyReader {

    /** A millisecond or two of parsing at worst. */
    private static final int LONGEST_ON_EVENT_LOOP = 64 << 10;

    private final BodyLimits limits;
    private final AdmissionControl admission;
    private final ComputationPool pool;

    RequestBodyReader(BodyLimits limits, AdmissionControl admission, ComputationPool pool) {
        this.limits = limits;
        this.admission = admission;
        this.pool = pool;
    }

    /**
     * @param use what is done with the request; it has the permit until it has ended
     * @return fails with {@link BadRequestException} or
     *         {@link dev.warmpath.router.admission.OverloadedException} before that
     */
    <T> Mono<T> read(ServerWebExchange exchange, BiFunction<RequestFields, Permit, Mono<T>> use) {
        ServerHttpRequest request = exchange.getRequest();
        refuseOtherThanPlainJson(request.getHeaders());
        BodyLimits.Limit limit = limits.now();
        long declaredBytes = Math.max(0, request.getHeaders().getContentLength());
        if (declaredBytes > limit.bodyBytes()) {
            return Mono.error(limit.tooLarge());
        }
        return Mono.using(
                () -> admission.enter(limit.heapBytes(declaredBytes)),
                permit -> gather(request, declaredBytes, limit, permit)
                        .flatMap(body -> parse(body, limit, permit))
                        .flatMap(fields -> use.apply(fields, permit)),
                Permit::close);
    }

    private static Mono<FastByteArrayOutputStream> gather(
            ServerHttpRequest request, long declaredBytes, BodyLimits.Limit limit, Permit permit) {
        Flux<DataBuffer> arriving = request.getBody().onErrorMap(_ -> new BadRequestException(
                Fault.INCOMPLETE_BODY, null, "the body broke off, or its chunks cannot be told apart"));
        return arriving.collect(FastByteArrayOutputStream::new, (body, buffer) -> {
            try {
                int bytes = body.size() + buffer.readableByteCount();
                if (bytes > limit.bodyBytes()) {
                    throw limit.tooLarge();
                }
                if (bytes > declaredBytes) {
                    permit.hold(limit.heapBytes(bytes));
                }
                append(body, buffer);
            } finally {
                DataBufferUtils.release(buffer);
            }
        });
    }

    private static void append(FastByteArrayOutputStream body, DataBuffer buffer) {
        byte[] bytes = new byte[buffer.readableByteCount()];
        buffer.read(bytes);
        try {
            body.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot be written", e);
        }
    }

    private Mono<RequestFields> parse(FastByteArrayOutputStream body, BodyLimits.Limit limit, Permit permit) {
        int bytes = body.size();
        Mono<RequestFields> fields = bytes <= LONGEST_ON_EVENT_LOOP
                ? Mono.fromCallable(() -> limit.parse(body.getInputStream()))
                : pool.run(permit, () -> limit.parse(body.getInputStream()));
        return fields.doOnNext(_ -> permit.hold(limit.parsedHeapBytes(bytes)));
    }

    private static void refuseOtherThanPlainJson(HttpHeaders headers) {
        String encoding = headers.getFirst(HttpHeaders.CONTENT_ENCODING);
        if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw unsupported("content-encoding '" + BadRequestException.shown(encoding)
                    + "' is not supported, send the body as it is");
        }
        String type = headers.getFirst(HttpHeaders.CONTENT_TYPE);
        try {
            if (type != null && MediaType.APPLICATION_JSON.equalsTypeAndSubtype(MediaType.parseMediaType(type))) {
                return;
            }
        } catch (InvalidMediaTypeException e) {
            // said below with the value
        }
        throw unsupported("content-type is " + (type == null ? "missing" : "'" + BadRequestException.shown(type) + "'")
                + ", it must be application/json");
    }

    private static BadRequestException unsupported(String message) {
        return new BadRequestException(Fault.UNSUPPORTED_MEDIA_TYPE, null, message);
    }
}
