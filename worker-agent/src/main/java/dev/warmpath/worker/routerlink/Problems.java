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

    private Problems() {}

    /** Written by hand: it is for requests that have not come as far as a handler. */
    static Mono<Void> unauthorized(ServerHttpResponse response) {
        return unauthorized(response, UNAUTHORIZED);
    }

    /** Likewise. */
    static Mono<Void> notAnOperator(ServerHttpResponse response) {
        return unauthorized(response, NOT_AN_OPERATOR);
    }

    private static Mono<Void> unauthorized(ServerHttpResponse response, byte[] problem) {
        response.setStatusCode(HttpStatus.UNAUTHORIZED);
        response.getHeaders().setContentType(MediaType.APPLICATION_PROBLEM_JSON);
        return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(problem)));
    }

    public static Mono<ServerResponse> answer(HttpStatus status, String detail) {
        return ServerResponse.status(status)
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(ProblemDetail.forStatusAndDetail(status, detail));
    }
}
