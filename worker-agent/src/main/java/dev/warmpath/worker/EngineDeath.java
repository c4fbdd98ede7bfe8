package dev.warmpath.worker;

import java.time.Duration;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the process with status 1: an engine whose books are wrong, or whose device is lost, must not answer anybody.
 * Whoever runs this process starts it anew.
 *
 * @param grace for an orderly shutdown; a driver whose device is lost may keep a call, and with it the shutdown, for
 *              ever, so that the process is halted then
 */
record EngineDeath(Duration grace) implements Consumer<Throwable> {

    private static final Logger log = LoggerFactory.getLogger(EngineDeath.class);

    @Override
    public void accept(Throwable cause) {
        log.error("the engine broke, this worker ends", cause);
        // not from the engine's own thread: shutting down waits for it
        Thread.ofPlatform().name("engine-death").start(() -> System.exit(1));
        Thread.ofPlatform().daemon().name("engine-death-deadline").start(this::haltAfterGrace);
    }

    private void haltAfterGrace() {
        try {
            Thread.sleep(grace);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        log.error("shutting down has not come to its end in {}, the process is halted", grace);
        Runtime.getRuntime().halt(1);
    }
}
