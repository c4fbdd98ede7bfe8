package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.engine.RefusedException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * The generations that somebody reads: running, prefilling, queued, or computed and not written to the end. A worker
 * that drains waits for the last of them and takes no others: who hears its farewell must not have to wait for the rest
 * of an answer.
 */
@Component
public final class OpenStreams implements WebFilter {

    private static final String ENTERED = OpenStreams.class.getName();

    private int open;
    private boolean draining;

    /**
     * Open until the exchange has ended: its last byte is written, or it is broken.
     *
     * @throws RefusedException if this worker drains; routers ask another one then, and the client sees nothing of it
     */
    synchronized void enter(ServerWebExchange exchange) {
        if (draining) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
        open++;
        exchange.getAttributes().put(ENTERED, true);
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        return chain.filter(exchange).doFinally(_ -> {
            if (exchange.getAttributes().containsKey(ENTERED)) {
                leave();
            }
        });
    }

    private synchronized void leave() {
        open--;
        notifyAll();
    }

    /** Takes no more. */
    public synchronized void refuse() {
        draining = true;
    }

    public synchronized int open() {
        return open;
    }

    /**
     * Takes no more, and waits for those that are open.
     *
     * @return how many are still open after {@code longest}; usually 0, and then it has not waited so long
     */
    public synchronized int drain(Duration longest) {
        refuse();
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
