package dev.warmpath.router;

import io.netty.channel.EventLoopGroup;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * Ends the process when one of the HTTP server's event loops has died of an error while the others go on. Netty writes
 * a line about it and no more; each of that loop's connections, and each new one that it is given, would stay without an
 * answer for as long as the process lives.
 *
 * <p>Named in META-INF as a management configuration, too: that port's loop is its own.
 */
@Component
final class EventLoopGuard implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory> {

    @Override
    public void customize(NettyReactiveWebServerFactory factory) {
        factory.addServerCustomizers(server -> server.doOnBound(bound -> guard(bound.channel().eventLoop().parent())));
    }

    private static void guard(EventLoopGroup group) {
        group.forEach(loop -> loop.terminationFuture().addListener(_ -> {
            if (!group.isShuttingDown()) {
                // as if thrown by the loop's own thread; Netty would catch it here
                Thread.ofVirtual().name("event-loop-guard").start(() -> {
                    throw new Error("an event loop of the HTTP server has died");
                });
            }
        }));
    }
}
