package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.engine.RefusedException;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.server.ContentTooLargeException;
import org.springframework.web.server.ServerWebInputException;
import tools.jackson.core.JacksonException;

/** Refusals of {@code /v1/generate} as RFC 9457 problems with the protocol's reason. */
@RestControllerAdvice(assignableTypes = GenerateController.class)
final class GenerateProblems {

    @ExceptionHandler
    ProblemDetail refused(RefusedException refusal) {
        return problem(statusOf(refusal.reason()), refusal.reason(), refusal.getMessage());
    }

    /** The body is no request: the deepest cause names the field and the value. */
    @ExceptionHandler
    ProblemDetail unreadable(JacksonException unreadable) {
        Throwable cause = NestedExceptionUtils.getMostSpecificCause(unreadable);
        String message = cause.getMessage() == null ? "the body is no generate request" : cause.getMessage();
        return problem(HttpStatus.BAD_REQUEST, FailureReason.INVALID_REQUEST, message);
    }

    /** There is none. */
    @ExceptionHandler
    ProblemDetail missing(ServerWebInputException missing) {
        return problem(HttpStatus.BAD_REQUEST, FailureReason.INVALID_REQUEST, "the body is no generate request");
    }

    /** Longer than any prompt of the model. */
    @ExceptionHandler
    ProblemDetail tooLong(ContentTooLargeException tooLong) {
        Throwable cause = NestedExceptionUtils.getMostSpecificCause(tooLong);
        return problem(HttpStatus.CONTENT_TOO_LARGE, FailureReason.INVALID_REQUEST, cause.getMessage());
    }

    private static HttpStatus statusOf(FailureReason reason) {
        return switch (reason) {
            case INVALID_REQUEST, UNSUPPORTED -> HttpStatus.BAD_REQUEST;
            case WRONG_EPOCH -> HttpStatus.CONFLICT;
            case QUEUE_FULL, SHUTTING_DOWN -> HttpStatus.SERVICE_UNAVAILABLE;
            case DEADLINE_EXCEEDED -> HttpStatus.GATEWAY_TIMEOUT;
            case UNUSABLE_LOGITS, RULES_LEAVE_NOTHING -> HttpStatus.UNPROCESSABLE_CONTENT;
            case ENGINE_FAILURE -> HttpStatus.INTERNAL_SERVER_ERROR;
        };
    }

    private static ProblemDetail problem(HttpStatus status, FailureReason reason, String message) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, message);
        problem.setProperty("reason", reason);
        return problem;
    }
}
