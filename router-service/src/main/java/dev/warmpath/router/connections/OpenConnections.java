package dev.warmpath.router.connections;

import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The connections of one port, and which of them wait for a request. Safe for all event loops. */
final class OpenConnections {

    private final int max;
    /** In the order in which they became idle. */
    private final Set<ConnectionGuard> idle = new LinkedHashSet<>();
    private int open;
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

    /** Ends those that wait for a further request, and from now on each one that would. */
    void end() {
        List<ConnectionGuard> unused;
        synchronized (this) {
            isEnding = true;
            unused = List.copyOf(idle);
        }
        unused.forEach(ConnectionGuard::endIfUnused);
    }

    boolean isEnding() {
        return isEnding;
    }

    synchronized int open() {
        return open;
    }
}
