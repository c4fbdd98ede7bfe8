package dev.warmpath.router.http;

import io.netty.channel.EventLoop;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.server.ServerWebExchange;
import reactor.netty.Connection;

/** What an exchange's connection is beneath Spring. */
final class HttpConnections {

    private HttpConnections() {}

    /** The event loop that reads the request and writes its answer. */
    static EventLoop loopOf(ServerWebExchange exchange) {
        Connection connection = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        return connection.channel().eventLoop();
    }
}
