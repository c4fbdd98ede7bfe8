package dev.warmpath.router.http;

import dev.warmpath.router.keys.ApiKeys;
import dev.warmpath.router.keys.Caller;
import dev.warmpath.router.keys.KeyException;
import java.util.Set;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Asks each request for its key, before its body is read and before it takes a place, and counts it. All paths need
 * one, those that are not served, too, but for the three that balancers and load tools ask. Browsers' questions about
 * other origins have been answered before, by {@link CorsFilter}: they bring no key.
 */
@Component
@Order(KeyFilter.AFTER_DRAIN)
public final class KeyFilter extends PublicFilter {

    /** What comes too late uses nothing up, and a router that stops asks those to leave, too, who have no key. */
    static final int AFTER_DRAIN = DrainFilter.AFTER_CORS + 1;
    static final String OTHER_HEADER = "x-api-key";
    /** Compared as they are written: what only means the same needs a key. */
    private static final Set<String> OPEN_PATHS = Set.of("/health", "/ping", "/version");
    private static final String ATTRIBUTE = KeyFilter.class.getName();

    private final ApiKeys keys;

    KeyFilter(ApiKeys keys, ApplicationContext publicContext) {
        super(publicContext);
        this.keys = keys;
    }

    @Override
    Mono<Void> filterPublic(ServerWebExchange exchange, WebFilterChain chain) {
        if (!keys.areAsked() || OPEN_PATHS.contains(
                exchange.getRequest().getPath().pathWithinApplication().value())) {
            return chain.filter(exchange);
        }
        try {
            Caller caller = callerOf(exchange.getRequest());
            exchange.getAttributes().put(ATTRIBUTE, caller);
            tellLimits(exchange.getResponse(), caller);
            caller.begin();
        } catch (KeyException e) {
            return Mono.error(e);
        }
        return chain.filter(exchange);
    }

    private Caller callerOf(ServerHttpRequest request) {
        HttpHeaders headers = request.getHeaders();
        return keys.callerOf(headers.getOrEmpty(HttpHeaders.AUTHORIZATION), headers.getOrEmpty(OTHER_HEADER));
    }

    /** When the first byte goes out the prompt's tokens have been taken. */
    private static void tellLimits(ServerHttpResponse response, Caller caller) {
        if (caller.requests() != null || caller.tokens() != null) {
            response.beforeCommit(() -> {
                RateLimitHeaders.write(caller, response.getHeaders());
                return Mono.empty();
            });
        }
    }

    /** Who the request is from; {@link Caller#ANYBODY} where no keys are asked for. */
    public static Caller callerOf(ServerWebExchange exchange) {
        return exchange.getAttributeOrDefault(ATTRIBUTE, Caller.ANYBODY);
    }
}
