package dev.warmpath.worker.routerlink;

import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** Refusals to routers, as RFC 9457 problems. */
public final class Problems {

    private static final byte[] UNAUTHORIZED = """
            {"title":"Unauthorized","status":401,"detail":"the fleet token is missing or wrong: is \
            warmpath.fleet.token of the router the same as that of the worker?"}""".getBytes(StandardCharsets.UTF_8);

    private static final byte[] NOT_AN_OPERATOR = """
            {"title":"Unauthorized","status":401,"detail":"the management token is missing or wrong, or a web page \
            sends this: send warmpath.management.token as 'Authorization: Bearer', without an Origin header"}"""
            .getBytes(StandardCharsets.UTF_8);

    private static final byte[] FROM_A_PAGE = """
            {"title":"Forbidden","status":403,"detail":"this is for routers, not for web pages: send no Origin header, \
            and ask a worker without a fleet token by localhost or a loopback address"}"""
            .getBytes(StandardCharsets.UTF_8);

    private Problems() {}

    /** Written by hand: it is for requests that have not come as far as a handler. */
    static Mono<Void> unauthorized(ServerHttpResponse response) {
        return write(response, HttpStatus.UNAUTHORIZED, UNAUTHORIZED);
    }

    /** Likewise. */
    static Mono<Void> notAnOperator(ServerHttpResponse response) {
        return write(response, HttpStatus.UNAUTHORIZED, NOT_AN_OPERATOR);
    }

    /** Likewise. */
    static Mono<Void> fromAPage(ServerHttpResponse response) {
        return write(response, HttpStatus.FORBIDDEN, FROM_A_PAGE);
    }

    private static Mono<Void> write(ServerHttpResponse response, HttpStatus status, byte[] problem) {
        response.setStatusCode(status);
        response.getHeaders().setContentType(MediaType.APPLICATION_PROBLEM_JSON);
        return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(problem)));
    }

    public static Mono<ServerResponse> answer(HttpStatus status, String detail) {
        return ServerResponse.status(status)
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(ProblemDetail.forStatusAndDetail(status, detail));
    }
}
