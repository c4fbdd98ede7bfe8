package dev.warmpath.router.fleet;

import dev.warmpath.protocol.process.ProcessEnd;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is to be logged of the fleet's changes: added under its lock, in the order in which things happen, and written
 * in that order by one thread at a time that does not hold it. A log that blocks (a full disk, a pipe that nobody reads)
 * holds up whoever writes, and nobody else; what is too much meanwhile is counted and left out. So is a line that cannot
 * be written: what it was to tell of has happened, and whoever asked for it gets his answer.
 */
final class ChangeLog {

    private static final Logger log = LoggerFactory.getLogger(ChangeLog.class);
    private static final int MAX_LINES = 4_096;

    private final BlockingQueue<Runnable> lines = new ArrayBlockingQueue<>(MAX_LINES);
    private final AtomicLong leftOut = new AtomicLong();
    private final AtomicBoolean writing = new AtomicBoolean();

    /** Under the fleet's lock. @param line writes itself */
    void add(Runnable line) {
        if (!lines.offer(line)) {
            leftOut.incrementAndGet();
        }
    }

    /** Without the fleet's lock. Returns at once if another thread is writing: it writes these lines, too. */
    void write() {
        while (!lines.isEmpty() && writing.compareAndSet(false, true)) {
            try {
                for (Runnable line = lines.poll(); line != null; line = lines.poll()) {
                    write(line);
                }
                long lost = leftOut.getAndSet(0);
                if (lost > 0) {
                    write(() -> log.warn(
                            "{} lines on changes of the fleet are left out: the log was too slow, or failed", lost));
                }
            } finally {
                writing.set(false);
            }
        }
    }

    private void write(Runnable line) {
        try {
            line.run();
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            leftOut.incrementAndGet();
        }
    }
}
