package dev.warmpath.router.openai;

import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.routing.RouteDecision;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpResponse;
import reactor.core.publisher.Mono;

/**
 * Tells in an answer's headers who gave it and why. They are written when the answer begins, so that a worker that was
 * tried and failed before is not the one that is named.
 */
final class DecisionHeaders {

    static final String WORKER = "x-warmpath-worker";
    /** What the index expects to be in the worker's cache; what was found there is in {@code usage}. */
    static final String CACHED_TOKENS = "x-warmpath-cached-tokens";
    static final String DECISION = "x-warmpath-decision";

    private volatile RouteDecision.@Nullable Routed latest;

    private DecisionHeaders() {}

    static DecisionHeaders of(ServerHttpResponse response, boolean enabled) {
        var headers = new DecisionHeaders();
        if (enabled) {
            response.beforeCommit(() -> Mono.fromRunnable(() -> headers.write(response.getHeaders())));
        }
        return headers;
    }

    void note(CompletionEvent event) {
        if (event instanceof Routed routed) {
            latest = routed.decision();
        }
    }

    private void write(HttpHeaders headers) {
        RouteDecision.Routed decision = latest;
        if (decision != null) {
            headers.set(WORKER, decision.workerId());
            headers.set(CACHED_TOKENS, Integer.toString(decision.cachedTokens()));
            headers.set(DECISION, decision.reason().text());
        }
    }
}
