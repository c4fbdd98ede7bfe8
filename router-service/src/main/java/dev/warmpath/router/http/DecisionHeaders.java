package dev.warmpath.router.http;

import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.routing.RouteDecision;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.springframework.http.HttpHeaders;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Tells in an answer's headers who gave it and why. They are written when the answer begins, so that a worker that was
 * tried and failed before is not the one that is named.
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
        if (!enabled) {
            return _ -> { };
        }
        var latest = new AtomicReference<RouteDecision.Routed>();
        exchange.getResponse().beforeCommit(
                () -> Mono.fromRunnable(() -> write(latest.get(), exchange.getResponse().getHeaders())));
        return event -> {
            if (event instanceof Routed routed) {
                latest.set(routed.decision());
            }
        };
    }

    private static void write(RouteDecision.Routed decision, HttpHeaders headers) {
        if (decision != null) {
            headers.set(WORKER, decision.workerId());
            headers.set(CACHED_TOKENS, Integer.toString(decision.cachedTokens()));
            headers.set(DECISION, decision.reason().text());
        }
    }
}
