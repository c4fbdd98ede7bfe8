package dev.warmpath.router.management;

import dev.warmpath.protocol.fleet.Farewell;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RequestProof;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.HeartbeatOutcome;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.fleetlink.WorkerLinks;
import java.security.SecureRandom;
import java.util.function.Function;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Registrations, heartbeats and farewells, on the management port. Accepted is 204; a refusal is an RFC 9457 problem
 * with a {@link RefusalReason}.
 *
 * <p>A web page in a browser on this machine can reach a port bound to loopback. Browsers say where a page comes from
 * ({@code Origin}), and ask before they send JSON, which nobody here answers: both are checked, token or not.
 * What comes proves that it is from the fleet by {@link RequestProof}.
 *
 * <p>Named in META-INF as a management configuration, and without any stereotype on purpose: a component scan that
 * found it would open these paths on the public port, too.
 */
class FleetRoutes {

    /** How workers of protocol version 1 showed that they have the token. */
    private static final String OLD_SCHEME = "Bearer ";

    @Bean
    RouterFunction<ServerResponse> fleetRoutesOnManagementPort(
            Fleet fleet, WorkerLinks links, FleetToken token, JsonMapper json) {
        var proofs = new WorkerProofs(token, new SecureRandom());
        return RouterFunctions.route()
                .POST(Protocol.REGISTRATIONS_PATH, request ->
                        answer(request, proofs, json, Registration.class, sent -> register(fleet, links, sent)))
                .POST(Protocol.HEARTBEATS_PATH, request ->
                        answer(request, proofs, json, Heartbeat.class, sent -> heartbeat(fleet, sent)))
                .POST(Protocol.FAREWELLS_PATH, request ->
                        answer(request, proofs, json, Farewell.class, sent -> farewell(fleet, sent)))
                .build();
    }

    private static Mono<ServerResponse> register(Fleet fleet, WorkerLinks links, Registration registration) {
        return switch (fleet.register(registration)) {
            case RegistrationOutcome.Refused(var reason, var message) -> refused(reason, message);
            case RegistrationOutcome.Accepted(var worker, var isNew) -> {
                if (isNew) {
                    links.follow(worker);
                }
                yield ServerResponse.noContent().build();
            }
        };
    }

    private static Mono<ServerResponse> heartbeat(Fleet fleet, Heartbeat heartbeat) {
        return switch (fleet.heartbeat(heartbeat)) {
            case HeartbeatOutcome.Refused(var reason, var message) -> refused(reason, message);
            case HeartbeatOutcome.Extended() -> ServerResponse.noContent().build();
        };
    }

    /** Whoever is not here has left already. */
    private static Mono<ServerResponse> farewell(Fleet fleet, Farewell farewell) {
        fleet.farewell(farewell);
        return ServerResponse.noContent().build();
    }

    /** The codec's limit of 256 KiB bounds what is read. */
    private static <T> Mono<ServerResponse> answer(ServerRequest request, WorkerProofs proofs, JsonMapper json,
            Class<T> type, Function<T, Mono<ServerResponse>> answer) {
        if (request.headers().firstHeader(HttpHeaders.ORIGIN) != null) {
            return refused(HttpStatus.FORBIDDEN, RefusalReason.UNAUTHORIZED,
                    "the request comes from a web page: it has an Origin header");
        }
        String header = request.headers().firstHeader(RequestProof.HEADER);
        if (!proofs.isPossible(header)) {
            return header != null && header.startsWith(OLD_SCHEME)
                    ? refused(RefusalReason.PROTOCOL_VERSION, "the worker sends the fleet's token itself, as protocol "
                            + "version 1 did; this router speaks version " + Protocol.VERSION)
                    : unproved(proofs);
        }
        if (!isJson(request.headers())) {
            return refused(HttpStatus.UNSUPPORTED_MEDIA_TYPE, RefusalReason.INVALID,
                    "the content type must be application/json");
        }
        return request.bodyToMono(byte[].class)
                .defaultIfEmpty(new byte[0])
                .flatMap(body -> {
                    if (!proofs.accept(header, request.requestPath().value(), body)) {
                        return unproved(proofs);
                    }
                    T sent = json.readValue(body, type);
                    return sent == null ? notReadable(type, "null") : answer.apply(sent);
                })
                .onErrorResume(JacksonException.class, e -> notReadable(type, e.getOriginalMessage()))
                .onErrorResume(DataBufferLimitException.class, e -> notReadable(type, e.getMessage()));
    }

    /** Says what a proof has to be made for: who has the token tries again at once. */
    private static Mono<ServerResponse> unproved(WorkerProofs proofs) {
        return ServerResponse.status(HttpStatus.UNAUTHORIZED)
                .header(RequestProof.CHALLENGE_HEADER, proofs.challenge())
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(problem(HttpStatus.UNAUTHORIZED, RefusalReason.UNAUTHORIZED, "the request is not signed "
                        + "with the fleet's token: is warmpath.fleet.token the same on worker and router?"));
    }

    private static boolean isJson(ServerRequest.Headers headers) {
        try {
            return headers.contentType().filter(MediaType.APPLICATION_JSON::equalsTypeAndSubtype).isPresent();
        } catch (InvalidMediaTypeException e) {
            return false;
        }
    }

    private static Mono<ServerResponse> notReadable(Class<?> type, String why) {
        return refused(RefusalReason.INVALID, "body is no " + type.getSimpleName().toLowerCase() + ": " + why);
    }

    private static Mono<ServerResponse> refused(RefusalReason reason, String message) {
        return refused(status(reason), reason, message);
    }

    private static Mono<ServerResponse> refused(HttpStatus status, RefusalReason reason, String message) {
        return ServerResponse.status(status)
                .contentType(MediaType.APPLICATION_PROBLEM_JSON)
                .bodyValue(problem(status, reason, message));
    }

    private static ProblemDetail problem(HttpStatus status, RefusalReason reason, String message) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, message);
        problem.setProperty("reason", reason);
        return problem;
    }

    private static HttpStatus status(RefusalReason reason) {
        return switch (reason) {
            case INVALID -> HttpStatus.UNPROCESSABLE_CONTENT;
            case PROTOCOL_VERSION, REVISION_CONTRADICTION, OLDER_EPOCH -> HttpStatus.CONFLICT;
            case UNKNOWN_WORKER -> HttpStatus.NOT_FOUND;
            case UNAUTHORIZED -> HttpStatus.UNAUTHORIZED;
            case FLEET_FULL -> HttpStatus.SERVICE_UNAVAILABLE;
        };
    }
}
