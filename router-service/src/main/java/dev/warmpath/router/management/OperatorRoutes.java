package dev.warmpath.router.management;

import dev.warmpath.process.ManagementProperties;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.router.fleet.Fleet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * What operators change, on the management port, with their token: PUT makes it so, DELETE takes it back, and both may be
 * repeated. Done is 204, a refusal an RFC 9457 problem. It is this router's alone and forgotten when it ends: with
 * several routers, each is told.
 *
 * <p>No web page may do it: see {@link FleetRoutes}, also for how this is wired.
 */
class OperatorRoutes {

    private static final Logger log = LoggerFactory.getLogger(OperatorRoutes.class);
    private static final String DRAIN_WORKER = "/internal/v1/workers/{id}/drain";
    private static final String DRAIN = "/internal/v1/revisions/{id}/drain";
    private static final String WEIGHT = "/internal/v1/revisions/{id}/weight";
    private static final String PIN = "/internal/v1/revisions/{id}/pin";
    private static final double MAX_WEIGHT = 1_000;

    @Bean
    RouterFunction<ServerResponse> operatorRoutesOnManagementPort(Fleet fleet, ManagementProperties properties) {
        FleetToken token = properties.operatorsToken();
        return RouterFunctions.route()
                .PUT(DRAIN_WORKER, request -> change(request, token, id -> fleet.drainWorker(id, true)))
                .DELETE(DRAIN_WORKER, request -> change(request, token, id -> fleet.drainWorker(id, false)))
                .PUT(DRAIN, request -> change(request, token, id -> fleet.weighRevision(id, 0)))
                .DELETE(DRAIN, request -> change(request, token, id -> fleet.weighRevision(id, 1)))
                .PUT(WEIGHT, request -> weigh(request, token, fleet))
                .DELETE(WEIGHT, request -> change(request, token, id -> fleet.weighRevision(id, 1)))
                .PUT(PIN, request -> change(request, token, fleet::pinRevision))
                .DELETE(PIN, request -> change(request, token, fleet::unpinRevision))
                .build();
    }

    private static Mono<ServerResponse> weigh(ServerRequest request, FleetToken token, Fleet fleet) {
        String text = request.queryParam("value").orElse("");
        double weight;
        try {
            weight = Double.parseDouble(text);
        } catch (NumberFormatException e) {
            weight = Double.NaN;
        }
        double checked = weight;
        boolean isWeight = weight >= 0 && weight <= MAX_WEIGHT;
        return change(request, token, isWeight ? id -> fleet.weighRevision(id, checked) : null);
    }

    /** @param change false if what it names is not here; null if the request cannot be right */
    private static Mono<ServerResponse> change(ServerRequest request, FleetToken token,
            @Nullable Predicate<String> change) {
        if (request.headers().firstHeader(HttpHeaders.ORIGIN) != null) {
            return refused(HttpStatus.FORBIDDEN, "the request comes from a web page: it has an Origin header");
        }
        if (!token.isProvedBy(request.headers().firstHeader(HttpHeaders.AUTHORIZATION))) {
            return refused(HttpStatus.UNAUTHORIZED,
                    "the management token is missing or wrong: send warmpath.management.token as 'Authorization: Bearer'");
        }
        if (change == null) {
            return refused(HttpStatus.BAD_REQUEST, "'value' must be a number from 0 to 1000");
        }
        if (!change.test(request.pathVariable("id"))) {
            return refused(HttpStatus.NOT_FOUND, "it is not known here, or as many wishes are kept as there may be");
        }
        log.info("an operator: {} {}", request.method(), request.path());
        return ServerResponse.noContent().build();
    }

    private static Mono<ServerResponse> refused(HttpStatus status, String message) {
        return ServerResponse.status(status)
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(ProblemDetail.forStatusAndDetail(status, message));
    }
}
