package dev.warmpath.router.connections;

import dev.warmpath.router.completion.RouterDrain;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import io.netty.channel.EventLoop;
import io.netty.util.internal.PlatformDependent;
import java.util.List;
import java.util.stream.StreamSupport;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.netty.DisposableServer;
import reactor.netty.NettyPipeline;
import reactor.netty.http.server.HttpServer;

/** Deadlines and a cap for the connections of the public port. */
@Configuration(proxyBeanMethods = false)
class ConnectionConfiguration {

    private static final String GUARD = "warmpath.connectionGuard";

    @Bean
    OpenConnections publicConnections(ConnectionProperties limits, RouterMetrics metrics) {
        // of Netty, whose buffers the machine's own pool of direct buffers does not count
        metrics.watch(RouterMeter.DIRECT_MEMORY_USED, PlatformDependent::usedDirectMemory);
        metrics.watch(RouterMeter.DIRECT_MEMORY_LIMIT, PlatformDependent::maxDirectMemory);
        return new OpenConnections(limits.max(), "public", metrics);
    }

    /** Whoever keeps a connection for later would learn by a refused request that the router stops. */
    @Bean
    SmartInitializingSingleton endOfUnusedConnections(RouterDrain drain, OpenConnections publicConnections) {
        return () -> drain.endSettlingWith(publicConnections::end);
    }

    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> publicConnectionGuard(
            ConnectionProperties limits, OpenConnections publicConnections) {
        return factory -> factory.addServerCustomizers(server -> guarded(server, limits, publicConnections));
    }

    /** Of the public port, which workers' connections share. */
    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> publicEventLoops(
            RouterMetrics metrics, OpenConnections publicConnections) {
        return factory -> factory.addServerCustomizers(server -> server.doOnBound(bound -> {
            List<EventLoop> loops = loopsOf(bound);
            publicConnections.carriedBy(loops);
            EventLoopDelay.watch(loops, bound, metrics, System::nanoTime);
        }));
    }

    private static List<EventLoop> loopsOf(DisposableServer server) {
        return StreamSupport.stream(server.channel().eventLoop().parent().spliterator(), false)
                .filter(EventLoop.class::isInstance).map(EventLoop.class::cast).toList();
    }

    static HttpServer guarded(HttpServer server, ConnectionProperties limits, OpenConnections connections) {
        return server.doOnChannelInit((_, channel, _) -> channel.pipeline().addAfter(
                NettyPipeline.HttpCodec, GUARD, new ConnectionGuard(limits, connections, System::nanoTime)));
    }
}
