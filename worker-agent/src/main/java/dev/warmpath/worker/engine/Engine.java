package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.engine.CommandQueue.Command;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * What other threads hold of the engine: they submit, cancel and read snapshots, and never wait for it. One platform
 * thread turns the {@link EngineLoop} as long as there is work and sleeps when there is none.
 */
public final class Engine implements AutoCloseable {

    /** Every command wakes the thread, and an early wake-up is kept; this is only a second net. */
    private static final long MAX_SLEEP_NANOS = 1_000_000_000;
    private static final long STOP_TIMEOUT_MILLIS = 10_000;

    private final EngineLoop loop;
    private final RequestIntake intake;
    private final LongSupplier nanoClock;
    private final Consumer<Throwable> onDeath;
    private final Thread thread = Thread.ofPlatform().name("engine").unstarted(this::turn);
    private volatile boolean stopping;

    /**
     * @param nanoClock monotonic, in nanoseconds; the loop's
     * @param onDeath   called on the engine's thread when an invariant broke: the books cannot be trusted any more, all
     *                  generations have failed, and the process had better start anew
     */
    public Engine(EngineLoop loop, RequestIntake intake, LongSupplier nanoClock, Consumer<Throwable> onDeath) {
        this.loop = loop;
        this.intake = intake;
        this.nanoClock = nanoClock;
        this.onDeath = onDeath;
    }

    /** Starts the thread. */
    public Engine start() {
        thread.start();
        return this;
    }

    /**
     * Takes a generation on. Its prompt is checked and hashed on the caller's thread.
     *
     * @param listener hears the tokens, on the engine's thread
     * @throws RefusedException if the request is wrong, asks for what is not served, or finds the queue full
     */
    public Generation submit(GenerateRequest request, GenerationListener listener) {
        requireAlive();
        var generation = new Generation(intake.accept(request, nanoClock.getAsLong()), listener);
        loop.commands().submit(generation);
        LockSupport.unpark(thread);
        return generation;
    }

    /** Gives the generation's blocks back within a step or two. Its listener hears nothing more. Harmless twice. */
    public void cancel(Generation generation) {
        enqueue(new Command.Cancel(generation));
    }

    /** Forgets every cached prefix. @return true if it did, false if some sequence holds blocks */
    public CompletableFuture<Boolean> resetPrefixCache() {
        requireAlive();
        var done = new CompletableFuture<Boolean>();
        enqueue(new Command.ResetPrefixCache(done));
        return done;
    }

    /** The state after the last turn. */
    public EngineSnapshot snapshot() {
        return loop.snapshot();
    }

    /** Refuses new work and fails what is alive as {@link FailureReason#SHUTTING_DOWN}. */
    @Override
    public void close() {
        stopping = true;
        LockSupport.unpark(thread);
        try {
            thread.join(STOP_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void enqueue(Command command) {
        loop.commands().add(command);
        LockSupport.unpark(thread);
    }

    private void requireAlive() {
        if (stopping) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
    }

    private void turn() {
        try {
            while (!stopping) {
                loop.step();
                if (!loop.hasWork()) {
                    LockSupport.parkNanos(this, MAX_SLEEP_NANOS);
                }
            }
            loop.abandon(FailureReason.SHUTTING_DOWN, "this worker is going away");
        } catch (RuntimeException | Error e) {
            stopping = true;
            loop.abandon(FailureReason.ENGINE_FAILURE, "the engine broke: " + e.getMessage());
            onDeath.accept(e);
        }
    }
}
