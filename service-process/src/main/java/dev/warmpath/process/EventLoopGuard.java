package dev.warmpath.process;

import io.netty.channel.EventLoopGroup;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;

/**
 * Ends the process when one of the HTTP server's event loops has died of an error. Netty writes a line about it and no
 * more; each of that loop's connections, and each new one that it is given, would stay without an answer for as long as
 * the process lives.
 *
 * <p>It watches from the server's start until the server has stopped, and so while a stop waits for answers: only then
 * do loops end in good order.
 *
 * <p>Where the management port has a loop of its own, as the router's, META-INF names this class as a management
 * configuration, too.
 */
public final class EventLoopGuard implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory>, SmartLifecycle {

    /** Stops after the server and before its loops, which have phase 0. */
    private static final int PHASE = WebServerApplicationContext.START_STOP_LIFECYCLE_PHASE - 1;

    /** Those of the server that runs now; a server that starts again gets others. */
    private volatile @Nullable EventLoopGroup watched;

    @Override
    public void customize(NettyReactiveWebServerFactory factory) {
        factory.addServerCustomizers(server -> server.doOnBound(bound -> watch(bound.channel().eventLoop().parent())));
    }

    private void watch(EventLoopGroup loops) {
        watched = loops;
        loops.forEach(loop -> loop.terminationFuture().addListener(_ -> {
            if (watched == loops) {
                // as if thrown by the loop's own thread; Netty would catch it here
                Thread.ofVirtual().name("event-loop-guard").start(() -> {
                    throw new Error("an event loop of the HTTP server has died");
                });
            }
        }));
    }

    /** The server's start is what begins it. */
    @Override
    public void start() {}

    @Override
    public void stop() {
        watched = null;
    }

    @Override
    public boolean isRunning() {
        return watched != null;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
