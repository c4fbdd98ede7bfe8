package dev.warmpath.router.http;

import org.springframework.context.ApplicationContext;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** A filter of the public port alone: the management port has a context of its own, which inherits all filters. */
abstract class PublicFilter implements WebFilter {

    private final ApplicationContext publicContext;

    PublicFilter(ApplicationContext publicContext) {
        this.publicContext = publicContext;
    }

    @Override
    public final Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        return exchange.getApplicationContext() == publicContext
                ? filterPublic(exchange, chain) : chain.filter(exchange);
    }

    /** As {@link #filter}, of a request to the public port. */
    abstract Mono<Void> filterPublic(ServerWebExchange exchange, WebFilterChain chain);
}
