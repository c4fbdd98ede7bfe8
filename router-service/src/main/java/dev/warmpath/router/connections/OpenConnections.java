package dev.warmpath.router.connections;

import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import io.netty.channel.EventLoop;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The connections of one port, and which of them wait for a request. Safe for all event loops. */
final class OpenConnections {

    private final int max;
    /** In the order in which they became idle. */
    private final Set<ConnectionGuard> idle = new LinkedHashSet<>();
    private List<EventLoop> loops = List.of();
    private int open;
    /** Of all that ever were. */
    private long opened;
    /** Set under the lock; who enters {@link #idle} after that reads it without. */
    private volatile boolean isEnding;

    /** @param port whose they are, for the meter */
    OpenConnections(int max, String port, RouterMetrics metrics) {
        this.max = max;
        metrics.watch(RouterMeter.CONNECTIONS, this::open, "port", port);
    }

    /** @return the one to close in its favour, maybe itself; null if there is room */
    synchronized @Nullable ConnectionGuard opened(ConnectionGuard connection) {
        open++;
        opened++;
        idle.add(connection);
        if (open <= max) {
            return null;
        }
        Iterator<ConnectionGuard> oldestFirst = idle.iterator();
        ConnectionGuard oldest = oldestFirst.next();
        oldestFirst.remove();
        return oldest;
    }

    synchronized void busy(ConnectionGuard connection) {
        idle.remove(connection);
    }

    synchronized void idle(ConnectionGuard connection) {
        idle.add(connection);
    }

    synchronized void closed(ConnectionGuard connection) {
        open--;
        idle.remove(connection);
    }

    /** @param loops that accept the connections and carry them */
    synchronized void carriedBy(List<EventLoop> loops) {
        this.loops = List.copyOf(loops);
    }

    /**
     * Ends those that wait for a further request, and from now on each one that would. What has come by now is read and
     * answered first: a client cannot know that its request was not, and a process that did not get its turn for a while
     * finds many. Returns when it is done, or when patience ends.
     */
    void end(Duration patience) throws InterruptedException {
        long begin = System.nanoTime();
        acceptAndRead(begin, patience);
        List<ConnectionGuard> unused;
        synchronized (this) {
            isEnding = true;
            unused = List.copyOf(idle);
        }
        unused.forEach(ConnectionGuard::endIfUnused);
        awaitReading(patience.toNanos() - (System.nanoTime() - begin));
    }

    /**
     * A loop accepts a few connections in a turn, 16 as a rule, hands each to its own loop, and that one reads it in a
     * turn after. So two turns are one look, and there is another one until a look finds nothing new, or all are read
     * that can have waited: under steady traffic something is always new.
     */
    private void acceptAndRead(long begin, Duration patience) throws InterruptedException {
        long first = opened();
        long before;
        do {
            before = opened();
            for (int turn = 0; turn < 2; turn++) {
                awaitReading(patience.toNanos() - (System.nanoTime() - begin));
            }
        } while (opened() > before && before - first < NetUtil.SOMAXCONN
                && System.nanoTime() - begin < patience.toNanos());
    }

    private synchronized long opened() {
        return opened;
    }

    private void awaitReading(long nanos) throws InterruptedException {
        var read = new CountDownLatch(loops.size());
        loops.forEach(loop -> afterReading(loop, read::countDown));
        read.await(nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Runs something when a loop has read what has come to its connections by now. Netty runs what is scheduled within
     * a loop in a later turn of it, and a turn begins with reading; what is only executed comes in the same one.
     */
    static void afterReading(EventExecutor loop, Runnable action) {
        loop.execute(() -> loop.schedule(action, 1, TimeUnit.NANOSECONDS));
    }

    boolean isEnding() {
        return isEnding;
    }

    synchronized int open() {
        return open;
    }
}
