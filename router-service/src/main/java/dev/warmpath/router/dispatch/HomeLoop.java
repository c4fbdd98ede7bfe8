package dev.warmpath.router.dispatch;

import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * The event loop of the connection that a client waits at, in a subscriber's context. Its worker is asked over a
 * connection of the same loop, so that a token goes from one to the other without waking another thread, which would
 * cost as much as reading it.
 */
public final class HomeLoop {

    private HomeLoop() {}

    /** What is subscribed with the result belongs to this loop. */
    public static Context set(Context context, EventLoop loop) {
        return context.put(HomeLoop.class, loop);
    }

    /** @return null if whoever subscribes waits at no connection */
    static @Nullable EventLoop of(ContextView context) {
        return context.getOrDefault(HomeLoop.class, null);
    }
}
