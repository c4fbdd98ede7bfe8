package dev.warmpath.router.http;

import dev.warmpath.router.completion.RouterDrain;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * While the router drains: answers ask for the end of their connection, since the next request on it would come too
 * late; and requests that are too late are refused before their body is read.
 */
@Component
@Order(DrainFilter.AFTER_CORS)
final class DrainFilter implements WebFilter {

    static final int AFTER_CORS = CorsFilter.AFTER_REQUEST_ID + 1;

    private final RouterDrain drain;
    private final ApplicationContext publicContext;

    DrainFilter(RouterDrain drain, ApplicationContext publicContext) {
        this.drain = drain;
        this.publicContext = publicContext;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        if (exchange.getApplicationContext() != publicContext) {
            return chain.filter(exchange);             // the management port inherits this filter, and stays open
        }
        exchange.getResponse().beforeCommit(() -> Mono.fromRunnable(() -> {
            if (drain.hasBegun()) {
                exchange.getResponse().getHeaders().setConnection("close");
            }
        }));
        return drain.isOverForNewRequests()
                ? Mono.error(new DispatchException(new RouterStopping()))
                : chain.filter(exchange);
    }
}
