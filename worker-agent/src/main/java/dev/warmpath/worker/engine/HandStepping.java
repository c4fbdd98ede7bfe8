package dev.warmpath.worker.engine;

import dev.warmpath.protocol.pool.Stepped;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether an engine is held, to be stepped by hand, and the step that somebody waits for. Others ask, the engine's
 * thread looks between two turns. A hold ends by itself: whoever wanted it may be gone.
 */
final class HandStepping {

    static final Duration LONGEST_HOLD = Duration.ofSeconds(60);

    private final LongSupplier nanoClock;
    private boolean held;
    private long renewedNanos;
    /** Done when the engine's thread has seen the hold. */
    private CompletableFuture<Void> rests = new CompletableFuture<>();
    private @Nullable CompletableFuture<Stepped> step;
    private boolean over;

    /** @param nanoClock the engine's */
    HandStepping(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /**
     * Holds, or holds on.
     *
     * @return done when nothing is computed any more; cancelled if the hold ends before
     * @throws SteppingException if the worker is going away
     */
    synchronized CompletableFuture<Void> hold() {
        if (over) {
            throw new SteppingException("this worker is going away, it is not held any more");
        }
        renewedNanos = nanoClock.getAsLong();
        held = true;
        return rests;
    }

    /** Asks for one step. @throws SteppingException if the engine is not held, or a step is asked for already */
    synchronized CompletableFuture<Stepped> step() {
        if (!isHeld()) {
            throw new SteppingException("the engine is not held: hold it first, it goes on by itself "
                    + LONGEST_HOLD.toSeconds() + " s after the last step or hold");
        }
        if (step != null) {
            throw new SteppingException("another step is being computed: ask again when it is done");
        }
        renewedNanos = nanoClock.getAsLong();
        step = new CompletableFuture<>();
        return step;
    }

    /** Lets the engine go on. A step that has not been computed is cancelled. */
    synchronized void release() {
        held = false;
        rests.cancel(false);
        rests = new CompletableFuture<>();
        if (step != null) {
            step.cancel(false);
            step = null;
        }
    }

    /** Releases for good. */
    synchronized void end() {
        over = true;
        release();
    }

    synchronized boolean isHeld() {
        if (held && nanoClock.getAsLong() - renewedNanos >= LONGEST_HOLD.toNanos()) {
            release();
        }
        return held;
    }

    /** The engine's thread rests. */
    synchronized void rests() {
        if (held) {
            rests.complete(null);
        }
    }

    synchronized boolean wantsStep() {
        return step != null;
    }

    synchronized void stepped(Stepped done) {
        renewedNanos = nanoClock.getAsLong();
        if (step != null) {
            step.complete(done);
            step = null;
        }
    }
}
