package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.FleetToken;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** Refusals to routers, as RFC 9457 problems. */
final class Problems {

    private Problems() {}

    static boolean isFromFleet(ServerRequest request, FleetToken token) {
        return token.isProvedBy(request.headers().firstHeader(HttpHeaders.AUTHORIZATION));
    }

    static Mono<ServerResponse> unauthorized() {
        return answer(HttpStatus.UNAUTHORIZED, "the fleet token is missing or wrong: is warmpath.fleet.token of the "
                + "router the same as warmpath.routerlink.token of the worker?");
    }

    static Mono<ServerResponse> answer(HttpStatus status, String detail) {
        return ServerResponse.status(status)
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(ProblemDetail.forStatusAndDetail(status, detail));
    }
}
