package dev.warmpath.router.connections;

import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/** Deadlines and a cap for the connections of the public port. */
@Configuration(proxyBeanMethods = false)
class ConnectionConfiguration {

    private static final String GUARD = "warmpath.connectionGuard";

    @Bean
    OpenConnections publicConnections(ConnectionProperties limits) {
        return new OpenConnections(limits.max());
    }

    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> publicConnectionGuard(
            ConnectionProperties limits, OpenConnections publicConnections) {
        return factory -> factory.addServerCustomizers(server -> guarded(server, limits, publicConnections));
    }

    static HttpServer guarded(HttpServer server, ConnectionProperties limits, OpenConnections connections) {
        return server.doOnChannelInit((_, channel, _) -> channel.pipeline().addAfter(
                NettyPipeline.HttpCodec, GUARD, new ConnectionGuard(limits, connections, System::nanoTime)));
    }
}
