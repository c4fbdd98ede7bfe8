package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.FleetToken;
import java.util.Set;
import java.util.regex.Pattern;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Turns strangers away from both ports of a worker before a byte of their body is read: whatever is not named here
 * needs proof. The names are compared with the path as it was sent, so that another spelling of a name is no name, and
 * no spelling of another path is open.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
public final class FleetGate implements WebFilter {

    /** Reads that probes and scrapers do, and that say nothing about anybody's prompt. */
    private static final Pattern OPEN_PATHS =
            Pattern.compile("/metrics|/actuator|/actuator/(info|prometheus|health(/[A-Za-z0-9_-]+)*)");
    private static final Set<HttpMethod> READS = Set.of(HttpMethod.GET, HttpMethod.HEAD);

    private final FleetToken token;

    public FleetGate(FleetToken token) {
        this.token = token;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        if (isOpen(request) || token.isProvedBy(request.getHeaders().getFirst(HttpHeaders.AUTHORIZATION))) {
            return chain.filter(exchange);
        }
        return Problems.unauthorized(exchange.getResponse());
    }

    private static boolean isOpen(ServerHttpRequest request) {
        return READS.contains(request.getMethod()) && OPEN_PATHS.matcher(request.getPath().value()).matches();
    }
}
