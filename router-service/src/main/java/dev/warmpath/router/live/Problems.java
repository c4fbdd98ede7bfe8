package dev.warmpath.router.live;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** Refusals to the page, as RFC 9457 problems. */
final class Problems {

    private Problems() {}

    static Mono<ServerResponse> answer(HttpStatus status, String detail) {
        return ServerResponse.status(status).contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(ProblemDetail.forStatusAndDetail(status, detail));
    }
}
