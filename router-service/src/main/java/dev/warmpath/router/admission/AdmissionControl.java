package dev.warmpath.router.admission;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.stereotype.Component;

/** Counts the completions under way and refuses one too many at once: the queues are the workers', not ours. */
@Component
public final class AdmissionControl {

    private final int maxInFlight;
    private final AtomicInteger inFlight = new AtomicInteger();

    AdmissionControl(AdmissionProperties properties) {
        this.maxInFlight = properties.maxInFlight();
    }

    /**
     * Takes a place, to be given back by closing the permit.
     *
     * @throws OverloadedException if {@code maxInFlight} are taken
     */
    public Permit enter() {
        int before = inFlight.getAndUpdate(taken -> Math.min(taken + 1, maxInFlight));
        if (before == maxInFlight) {
            throw new OverloadedException(maxInFlight + " requests are in flight, which is this router's limit");
        }
        return new Permit();
    }

    /** Permits that are out. */
    public int inFlight() {
        return inFlight.get();
    }

    /** One place among those in flight. Closing it again has no effect. */
    public final class Permit implements AutoCloseable {

        private final AtomicBoolean closed = new AtomicBoolean();

        private Permit() {}

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                inFlight.decrementAndGet();
            }
        }
    }
}
