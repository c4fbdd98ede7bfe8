package dev.warmpath.router.http;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.InvalidAnswer;
import dev.warmpath.router.dispatch.DispatchFailure.NoWorker;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerSilent;
import dev.warmpath.router.keys.KeyException;
import dev.warmpath.router.keys.KeyRefusal;
import dev.warmpath.router.keys.KeyRefusal.Ambiguous;
import dev.warmpath.router.keys.KeyRefusal.Missing;
import dev.warmpath.router.keys.KeyRefusal.OperatorsOnly;
import dev.warmpath.router.keys.KeyRefusal.TooLarge;
import dev.warmpath.router.keys.KeyRefusal.Unknown;
import dev.warmpath.router.keys.KeyRefusal.UsedUp;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.util.InvalidMimeTypeException;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.MethodNotAllowedException;

/**
 * An error as clients see it, and the status it travels with when nothing was answered yet. The one place where the
 * inside's typed errors become HTTP.
 *
 * @param status            HTTP status
 * @param body              OpenAI's error object
 * @param headers that go with it, as when the same request may do better: OpenAI's clients try again by themselves
 */
public record ApiError(int status, Body body, Map<String, String> headers) {

    /** {@code {"error": {…}}}. */
    record Body(Detail error) {}

    /**
     * @param message a sentence that names value and limit
     * @param type    kind of error in OpenAI's words
     * @param param   path of the field to blame, or null
     * @param code    what clients act on
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    record Detail(String message, String type, @Nullable String param, String code) {

        Detail {
            message = wellFormed(message);
            param = param == null ? null : wellFormed(param);
        }

        /**
         * Half of a pair of surrogates, as a client's escapes can say it, or a cut leave it, becomes a question mark:
         * many libraries take JSON that has one for none.
         */
        private static String wellFormed(String text) {
            return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        }
    }

    private static final String INVALID_REQUEST = "invalid_request_error";
    private static final String UNAVAILABLE = "service_unavailable_error";
    private static final String API_ERROR = "api_error";
    /** OpenAI's clients look at this one first. */
    static final String RETRY_AFTER_MS = "retry-after-ms";
    private static final String RETRY_AFTER = "retry-after";
    /** A longer wait makes OpenAI's clients give up, from 120 s on; a minute's worth is there again by then. */
    private static final long LONGEST_WAIT_MILLIS = 60_000;
    /** Long enough for a queue to move, short enough for a client to wait. */
    private static final int OVERLOAD_SECONDS = 1;
    /** A restarted worker needs about that. */
    private static final int NO_WORKER_SECONDS = 2;

    /** What clients act on. */
    String code() {
        return body.error().code();
    }

    static ApiError of(Throwable error) {
        return switch (error) {
            case BadRequestException bad -> of(bad);
            case OverloadedException full -> unavailable("server_is_overloaded", text(full), full.retryAfterSeconds());
            case DispatchException failed -> of(failed);
            case KeyException refused -> of(refused.refusal());
            case ErrorResponse framework -> of(framework);
            // of content types only the framework makes these, for an 'accept' of 51 or more
            case InvalidMimeTypeException _ -> error(406, INVALID_REQUEST, "not_acceptable",
                    "'accept' has more types than are read, which is 50");
            default -> error(500, API_ERROR, "internal_error", "the router failed on this request; its log tells more");
        };
    }

    /** The body of a 408, as JSON: it is written where there is no mapper. @param message needs no escaping */
    public static String timeout(String message) {
        return "{\"error\":{\"message\":\"" + message + "\",\"type\":\"" + INVALID_REQUEST
                + "\",\"param\":null,\"code\":\"request_timeout\"}}";
    }

    private static ApiError of(BadRequestException bad) {
        Fault fault = bad.fault();
        int status = switch (fault) {
            case INVALID_VALUE, MISSING_VALUE, UNKNOWN_PARAMETER, UNSUPPORTED_PARAMETER, CONTEXT_LENGTH_EXCEEDED,
                    INVALID_JSON, INCOMPLETE_BODY -> 400;
            case MODEL_NOT_FOUND -> 404;
            case BODY_TOO_LARGE -> 413;
            case UNSUPPORTED_MEDIA_TYPE -> 415;
        };
        String code = fault.name().toLowerCase(Locale.ROOT);
        return new ApiError(status, new Body(new Detail(text(bad), INVALID_REQUEST, bad.field(), code)), Map.of());
    }

    /** Statuses, and of 401 and 429 types and codes, are OpenAI's, which clients know. */
    private static ApiError of(KeyRefusal refusal) {
        return switch (refusal) {
            case Missing _, Ambiguous _, Unknown _ -> error(401, INVALID_REQUEST, "invalid_api_key", refusal.message())
                    .with(Map.of("www-authenticate", "Bearer"));
            case OperatorsOnly _ -> error(403, "permission_error", "permission_denied", refusal.message());
            case UsedUp used -> {
                long millis = Math.clamp(Math.ceilDiv(used.waitNanos(), 1_000_000L), 1, LONGEST_WAIT_MILLIS);
                yield rateLimited(used).with(Map.of(RETRY_AFTER_MS, Long.toString(millis),
                        RETRY_AFTER, Long.toString(Math.ceilDiv(millis, 1_000L))));
            }
            case TooLarge large -> rateLimited(large).with(Map.of("x-should-retry", "false"));
        };
    }

    private static ApiError rateLimited(KeyRefusal refusal) {
        return error(429, refusal.cause(), "rate_limit_exceeded", refusal.message());
    }

    private ApiError with(Map<String, String> otherHeaders) {
        return new ApiError(status, body, otherHeaders);
    }

    private static ApiError of(DispatchException failed) {
        String message = failed.failure().message();
        return switch (failed.failure()) {
            case RouterStopping _ -> unavailable("router_is_stopping", message, OVERLOAD_SECONDS);
            case NoWorker _ -> unavailable("no_worker_available", message, NO_WORKER_SECONDS);
            case WorkerLost _ -> error(502, API_ERROR, "worker_lost", message);
            case InvalidAnswer _ -> error(502, API_ERROR, "invalid_worker_answer", message);
            case WorkerSilent _ -> error(504, API_ERROR, "deadline_exceeded", message);
            case Refused refused -> switch (refused.reason()) {
                case INVALID_REQUEST, UNSUPPORTED -> error(400, INVALID_REQUEST, "refused_by_worker", message);
                case QUEUE_FULL -> unavailable("server_is_overloaded", message, OVERLOAD_SECONDS);
                case WRONG_EPOCH, SHUTTING_DOWN -> unavailable("no_worker_available", message, NO_WORKER_SECONDS);
                case DEADLINE_EXCEEDED -> error(504, API_ERROR, "deadline_exceeded", message);
                case ENGINE_FAILURE -> error(502, API_ERROR, "engine_failure", message);
                case UNUSABLE_LOGITS, RULES_LEAVE_NOTHING -> error(422, INVALID_REQUEST, "unusable_logits", message);
            };
        };
    }

    /** What Spring refuses before our code is asked: unknown paths, methods, types. */
    private static ApiError of(ErrorResponse framework) {
        int status = framework.getStatusCode().value();
        @Nullable String detail = framework.getBody().getDetail();
        @Nullable HttpStatus known = HttpStatus.resolve(status);
        String phrase = known == null ? "status " + status : known.getReasonPhrase();
        String code = phrase.toLowerCase(Locale.ROOT).replace(' ', '_');
        String message = switch (status) {
            case 404 -> "this path is not served";
            case 405 -> framework instanceof MethodNotAllowedException wrong ? methods(wrong) : phrase;
            case 406 -> "answers are application/json or text/event-stream, which 'accept' leaves out";
            default -> detail == null ? phrase : BadRequestException.shown(detail);
        };
        return error(status, status < 500 ? INVALID_REQUEST : API_ERROR, code, message);
    }

    private static String methods(MethodNotAllowedException wrong) {
        String served = wrong.getSupportedMethods().stream().map(HttpMethod::name).sorted()
                .collect(Collectors.joining(" and "));
        return BadRequestException.shown(wrong.getHttpMethod()) + " is not served on this path"
                + (served.isEmpty() ? "" : ", but " + served);
    }

    private static ApiError error(int status, String type, String code, String message) {
        return new ApiError(status, new Body(new Detail(message, type, null, code)), Map.of());
    }

    private static ApiError unavailable(String code, String message, int retryAfterSeconds) {
        return error(503, UNAVAILABLE, code, message)
                .with(Map.of(RETRY_AFTER, Integer.toString(retryAfterSeconds)));
    }

    private static String text(Throwable error) {
        return Objects.requireNonNullElse(error.getMessage(), error.getClass().getSimpleName());
    }
}
