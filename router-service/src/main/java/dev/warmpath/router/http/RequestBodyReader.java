package dev.warmpath.router.http;

import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.ComputationPool;
import dev.warmpath.router.dispatch.HomeLoop;
import java.util.Arrays;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Reads a request's body as JSON. First a place, then the body: gathered on the heap, since what clients have not sent
 * whole must not fill the network's buffers, and parsed off the event loops if it is long. Memory is held for the bytes
 * that are there, and for what parsing takes only meanwhile: as many bodies as threads that parse, the others wait for a
 * thread, not for memory.
 */
@Component
public final class RequestBodyReader {

    /** Most of a body that is read and dropped when its request was answered before: see {@link ApiErrorHandler}. */
    public static final long LONGEST_PASSED_OVER = 64 << 20;

    /** A millisecond or two of parsing at worst. */
    private static final int LONGEST_ON_EVENT_LOOP = 64 << 10;

    private final BodyLimits limits;
    private final AdmissionControl admission;
    private final ComputationPool pool;
    private final boolean ignoresUnknown;

    RequestBodyReader(
            BodyLimits limits, AdmissionControl admission, ComputationPool pool, ApiProperties properties) {
        this.limits = limits;
        this.admission = admission;
        this.pool = pool;
        this.ignoresUnknown = properties.unknownFields() == ApiProperties.UnknownFields.IGNORE;
    }

    /**
     * @param reading makes a request of the body
     * @param use     answers the request; it has the permit until the answer has been written
     * @return fails with {@link BadRequestException} or {@link OverloadedException} before that
     */
    public <T> Mono<Void> read(
            ServerWebExchange exchange, Function<JsonBody, T> reading, BiFunction<T, Permit, Mono<Void>> use) {
        ServerHttpRequest request = exchange.getRequest();
        refuseOtherThanPlainJson(request.getHeaders());
        BodyLimits.Limit limit = limits.now();
        long declaredBytes = Math.max(0, request.getHeaders().getContentLength());
        if (declaredBytes > limit.bodyBytes()) {
            return Mono.error(limit.tooLarge());
        }
        return Mono.using(
                () -> admission.enter(limit.heapBytes(declaredBytes)),
                permit -> gather(request, limit, declaredBytes, permit)
                        .flatMap(body -> parse(body, limit, permit, reading, exchange.getResponse().getHeaders()))
                        .flatMap(wanted -> use.apply(wanted, permit)),
                Permit::close)
                .contextWrite(context -> HomeLoop.set(context, HttpConnections.loopOf(exchange)));
    }

    private static Mono<Gathered> gather(
            ServerHttpRequest request, BodyLimits.Limit limit, long declaredBytes, Permit permit) {
        Flux<DataBuffer> arriving = request.getBody().onErrorMap(_ -> new BadRequestException(
                Fault.INCOMPLETE_BODY, null, "the body broke off, or its chunks cannot be told apart"));
        return arriving.collect(() -> new Gathered((int) declaredBytes), (body, buffer) -> {
            try {
                body.add(buffer, limit, permit);
            } finally {
                DataBufferUtils.release(buffer);
            }
        }).doOnNext(Gathered::refuseIfPassedOver);
    }

    /** What has come of a body. Where the memory ends the rest is passed over: most clients send all, then they read. */
    private static final class Gathered {

        private final int declaredBytes;
        private byte[] bytes = new byte[0];
        private int length;
        private @Nullable OverloadedException refusal;

        /** @param declaredBytes 0: not known. No more is taken than has come: a client may promise what it never sends */
        Gathered(int declaredBytes) {
            this.declaredBytes = declaredBytes;
        }

        void add(DataBuffer buffer, BodyLimits.Limit limit, Permit permit) {
            int more = buffer.readableByteCount();
            if (more > limit.bodyBytes() - length) {
                throw limit.tooLarge();
            }
            if (refusal != null) {
                length += more;
                return;
            }
            try {
                permit.hold(limit.gatheredHeapBytes(length + more));
                reserve(length + more);
                buffer.read(bytes, length, more);
            } catch (OverloadedException e) {
                refusal = e;
                bytes = new byte[0];
                permit.hold(0);
            }
            length += more;
        }

        /** Twice as much each time, but no more than the body needs. */
        private void reserve(int needed) {
            if (needed > bytes.length) {
                int twice = Math.max(needed, 2 * bytes.length);
                bytes = Arrays.copyOf(bytes, declaredBytes < needed ? twice : Math.min(twice, declaredBytes));
            }
        }

        void refuseIfPassedOver() {
            if (refusal != null) {
                throw refusal;
            }
        }
    }

    private <T> Mono<T> parse(Gathered body, BodyLimits.Limit limit, Permit permit, Function<JsonBody, T> reading,
            HttpHeaders answered) {
        int length = body.length;
        @Nullable IgnoredFields ignored = ignoresUnknown ? new IgnoredFields() : null;
        Supplier<T> parsing = () -> {
            permit.hold(limit.heapBytes(length));
            T request = reading.apply(new JsonBody(body.bytes, length, limit, ignored));
            if (ignored != null) {
                ignored.writeTo(answered);
            }
            permit.hold(limit.parsedHeapBytes(length));
            return request;
        };
        return length <= LONGEST_ON_EVENT_LOOP ? Mono.fromSupplier(parsing) : pool.run(permit, parsing);
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
