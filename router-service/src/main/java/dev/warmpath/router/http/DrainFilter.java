package dev.warmpath.router.http;

import dev.warmpath.router.completion.RouterDrain;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * While the router drains: answers ask for the end of their connection, since the next request on it would come too
 * late; and requests that are too late are refused before their body is read.
 */
@Component
@Order(DrainFilter.AFTER_CORS)
final class DrainFilter extends PublicFilter {

    static final int AFTER_CORS = CorsFilter.AFTER_REQUEST_ID + 1;

    private final RouterDrain drain;

    DrainFilter(RouterDrain drain, ApplicationContext publicContext) {
        super(publicContext);
        this.drain = drain;
    }

    @Override
    Mono<Void> filterPublic(ServerWebExchange exchange, WebFilterChain chain) {
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
