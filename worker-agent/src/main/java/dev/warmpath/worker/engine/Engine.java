package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.ArrayList;
import java.util.List;
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
        return submit(request, List.of(listener)).getFirst();
    }

    /**
     * Takes several answers to one prompt on, all or none. The prompt is computed once; the answers share its blocks,
     * and draw with the seeds seed, seed + 1 and so on.
     *
     * @param listeners at least one; each hears one answer
     * @return the generations in the same order, to be cancelled one by one
     * @throws RefusedException if the request is wrong, asks for what is not served, or finds the queue full
     */
    public List<Generation> submit(GenerateRequest request, List<GenerationListener> listeners) {
        List<Sequence> sequences = intake.accept(request, listeners.size(), nanoClock.getAsLong());
        List<Generation> generations = new ArrayList<>();
        for (int i = 0; i < listeners.size(); i++) {
            generations.add(new Generation(sequences.get(i), listeners.get(i)));
        }
        loop.commands().submit(generations);
        LockSupport.unpark(thread);
        return generations;
    }

    /** Gives the generation's blocks back within a step or two. Its listener hears nothing more. Harmless twice. */
    public void cancel(Generation generation) {
        loop.commands().cancel(generation);
        LockSupport.unpark(thread);
    }

    /**
     * Ends the generation early and well: its listener hears that it finished, unless it was over or cancelled before.
     * Harmless twice.
     */
    public void stop(Generation generation) {
        loop.commands().stop(generation);
        LockSupport.unpark(thread);
    }

    /**
     * Forgets every cached prefix. Who asks before it is done shares the answer.
     *
     * @return true if it did, false if some sequence holds blocks; cancelled if the engine stops
     */
    public CompletableFuture<Boolean> resetPrefixCache() {
        CompletableFuture<Boolean> done = loop.commands().resetPrefixCache();
        LockSupport.unpark(thread);
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
            try {
                loop.abandon(FailureReason.ENGINE_FAILURE, "the engine broke: " + e.getMessage());
            } finally {
                onDeath.accept(e);
            }
        }
    }
}
