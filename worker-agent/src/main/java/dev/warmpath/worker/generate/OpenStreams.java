package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.engine.RefusedException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.stereotype.Component;

/**
 * The generations that somebody reads: running, prefilling, queued, or computed and not read to the end. A worker that
 * drains waits for the last of them and takes no others.
 */
@Component
public final class OpenStreams {

    private int open;
    private boolean draining;

    /** @throws RefusedException if this worker drains; routers ask another one then, and the client sees nothing of it */
    synchronized void enter() {
        if (draining) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
        open++;
    }

    synchronized void leave() {
        open--;
        notifyAll();
    }

    /**
     * Takes no more, and waits for those that are open.
     *
     * @return how many are still open after {@code longest}; usually 0, and then it has not waited so long
     */
    public synchronized int drain(Duration longest) {
        draining = true;
        long deadline = System.nanoTime() + longest.toNanos();
        try {
            long left = longest.toNanos();
            while (open > 0 && left > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
                left = deadline - System.nanoTime();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return open;
    }
}
