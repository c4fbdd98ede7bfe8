package dev.warmpath.router.connections;

import dev.warmpath.router.metrics.RouterMetrics;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import reactor.netty.DisposableServer;

/**
 * Asks an event loop ten times a second to run something, and tells how late it did. Whoever computes or waits on a loop
 * keeps all of its connections waiting, which no other meter shows.
 */
final class EventLoopDelay implements Runnable {

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final RouterMetrics metrics;
    private final LongSupplier nanoTime;
    private long dueNanos;

    EventLoopDelay(RouterMetrics metrics, LongSupplier nanoTime) {
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        this.dueNanos = nanoTime.getAsLong() + INTERVAL_NANOS;
    }

    /** Watches loops until their server is stopped. */
    static void watch(List<EventLoop> loops, DisposableServer server, RouterMetrics metrics, LongSupplier nanoTime) {
        List<Future<?>> asked = new ArrayList<>();
        loops.forEach(loop -> asked.add(loop.scheduleWithFixedDelay(new EventLoopDelay(metrics, nanoTime),
                INTERVAL_NANOS, INTERVAL_NANOS, TimeUnit.NANOSECONDS)));
        server.onDispose(() -> asked.forEach(each -> each.cancel(false)));
    }

    @Override
    public void run() {
        long now = nanoTime.getAsLong();
        metrics.eventLoopWasLate(Math.max(0, now - dueNanos));
        dueNanos = nanoTime.getAsLong() + INTERVAL_NANOS;
    }
}
