package dev.warmpath.worker;

import dev.warmpath.worker.generate.OpenStreams;
import dev.warmpath.worker.routerlink.RouterLink;
import java.time.Duration;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.stereotype.Component;

/**
 * The end of new work: routers are told and send nothing new, what they had sent by then is taken, and from then on
 * everything is refused. What was taken goes on. It is for good: routers take no word back that a worker has drained.
 */
@Component
final class WorkerDrain {

    /** Requests that are on their way from routers which have heard arrive within it. */
    private static final Duration SETTLE = Duration.ofMillis(500);

    private final WorkerEngine engine;
    private final RouterLink routerLink;
    private final OpenStreams streams;
    private final ApplicationEventPublisher events;
    private volatile boolean begun;

    WorkerDrain(WorkerEngine engine, RouterLink routerLink, OpenStreams streams, ApplicationEventPublisher events) {
        this.engine = engine;
        this.routerLink = routerLink;
        this.streams = streams;
        this.events = events;
    }

    /** Returns when new work is refused, after some seconds at most; at once if it is already. */
    synchronized void begin() {
        if (begun) {
            return;
        }
        begun = true;
        engine.endHolds();
        AvailabilityChangeEvent.publish(events, this, ReadinessState.REFUSING_TRAFFIC);
        if (routerLink.drain()) {
            settle();
        }
        streams.refuse();
    }

    boolean hasBegun() {
        return begun;
    }

    /** A router may have chosen this worker just before it heard. */
    private static void settle() {
        try {
            Thread.sleep(SETTLE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
