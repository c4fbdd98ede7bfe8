package dev.warmpath.router.fleetlink;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.HealthProperties;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Compares the health of workers a few times a second, in a thread of its own, until closed. */
final class HealthLoop implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(HealthLoop.class);
    private static final Duration INTERVAL = Duration.ofMillis(250);

    private final Fleet fleet;
    private final HealthProperties properties;
    private final Thread thread;

    HealthLoop(Fleet fleet, HealthProperties properties) {
        this.fleet = fleet;
        this.properties = properties;
        this.thread = Thread.ofVirtual().name("fleet-health").start(this::run);
    }

    private void run() {
        try {
            while (!Thread.interrupted()) {
                compare();
                Thread.sleep(INTERVAL);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();                    // the router is closing
        }
    }

    private void compare() {
        try {
            fleet.compareHealth(properties.slowFactor());
        } catch (RuntimeException e) {
            log.error("comparing the health of workers failed in the router", e);
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
