package dev.warmpath.router.decisions;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.stereotype.Component;

/**
 * {@code /actuator/decisions}: where the last requests went and why, the newest first; with a request's id behind it,
 * that one's. Exposed by {@code management.endpoints.web.exposure.include}.
 */
@Component
@WebEndpoint(id = "decisions")
public class DecisionsEndpoint {

    private static final int DEFAULT_LIMIT = 50;
    private static final int HIGHEST_LIMIT = 1_000;

    private final DecisionLog decisions;

    DecisionsEndpoint(DecisionLog decisions) {
        this.decisions = decisions;
    }

    /** The endpoint's answer. */
    record Decisions(List<DecisionView> decisions) {}

    /**
     * @param limit  how many, 1 to {@value #HIGHEST_LIMIT}; fewer if fewer are kept
     * @param worker only those that went there
     */
    @ReadOperation
    public WebEndpointResponse<?> latest(@Nullable Integer limit, @Nullable String worker) {
        int most = limit == null ? DEFAULT_LIMIT : limit;
        if (most < 1 || most > HIGHEST_LIMIT) {
            return new WebEndpointResponse<>(ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST,
                    "limit is " + most + ", and must be 1 to " + HIGHEST_LIMIT), HttpStatus.BAD_REQUEST.value());
        }
        return new WebEndpointResponse<>(answer(decisions.latest(most,
                each -> worker == null || each.routed().workerId().equals(worker))));
    }

    /** All tries of a request that are still kept, the last one first; none is no error, it may have been long ago. */
    @ReadOperation
    public Decisions of(@Selector String request) {
        return answer(decisions.latest(HIGHEST_LIMIT, each -> each.subject().requestId().equals(request)));
    }

    private static Decisions answer(List<Decision> found) {
        return new Decisions(found.stream().map(DecisionView::of).toList());
    }
}
