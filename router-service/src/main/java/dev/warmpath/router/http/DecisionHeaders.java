package dev.warmpath.router.http;

import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.routing.RouteDecision;
import java.util.List;
import java.util.function.Consumer;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;

/**
 * Tells in an answer's headers who gave it and why; where keys are asked for, operators only. Nothing is sent before
 * the first token, so the worker that was tried last is the one that is named.
 */
@Component
public final class DecisionHeaders {

    static final String WORKER = "x-warmpath-worker";
    /** What the index expects to be in the worker's cache; what was found there is in {@code usage}. */
    static final String CACHED_TOKENS = "x-warmpath-cached-tokens";
    static final String DECISION = "x-warmpath-decision";
    static final List<String> NAMES = List.of(WORKER, CACHED_TOKENS, DECISION);

    private final boolean enabled;

    DecisionHeaders(ApiProperties properties) {
        this.enabled = properties.decisionHeaders();
    }

    /** @return to be told the events of the answer that this exchange ends with */
    public Consumer<CompletionEvent> of(ServerWebExchange exchange) {
        if (!enabled || !KeyFilter.callerOf(exchange).isOperator()) {
            return _ -> { };
        }
        ServerHttpResponse response = exchange.getResponse();
        return event -> {
            if (event instanceof Routed routed && !response.isCommitted()) {
                write(routed.decision(), response.getHeaders());
            }
        };
    }

    private static void write(RouteDecision.Routed decision, HttpHeaders headers) {
        headers.set(WORKER, decision.workerId());
        headers.set(CACHED_TOKENS, Integer.toString(decision.cachedTokens()));
        headers.set(DECISION, decision.reason().text());
    }
}
