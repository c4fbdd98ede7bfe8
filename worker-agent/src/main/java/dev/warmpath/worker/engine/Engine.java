package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.pool.Stepped;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.Sequence;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What other threads hold of the engine: they submit, cancel and read snapshots, and never wait for it. One platform
 * thread turns the {@link EngineLoop} as long as there is work and sleeps when there is none.
 *
 * <p>A device may hang, and that thread with it. Another one looks at the age of the running step: beyond a bound
 * nothing new is taken until the step has ended, and at twice the bound it is told as the engine's death.
 */
public final class Engine implements Generator<Generation>, AutoCloseable {

    /** Every command wakes the thread, and an early wake-up is kept; this is only a second net. */
    private static final long MAX_SLEEP_NANOS = 1_000_000_000;
    private static final long STOP_TIMEOUT_MILLIS = 10_000;

    private static final Logger log = LoggerFactory.getLogger(Engine.class);

    private final EngineLoop loop;
    private final RequestIntake intake;
    private final LongSupplier nanoClock;
    private final Consumer<Throwable> onDeath;
    private final Duration longestStep;
    private final Thread thread = Thread.ofPlatform().name("engine").unstarted(this::turn);
    private final Thread watch = Thread.ofPlatform().daemon().name("engine-watch").unstarted(this::watch);
    private final HandStepping stepping;
    private volatile boolean stopping;

    /**
     * @param nanoClock monotonic, in nanoseconds; the loop's
     * @param longestStep how long one device step may take
     * @param onDeath   called on the engine's thread when an invariant broke: the books cannot be trusted any more, all
     *                  generations have failed, and the process had better start anew. Or on another one, with a
     *                  {@link StepHangsException}, while the engine's thread and all generations wait for the device
     */
    public Engine(EngineLoop loop, RequestIntake intake, LongSupplier nanoClock, Duration longestStep,
            Consumer<Throwable> onDeath) {
        this.loop = loop;
        this.intake = intake;
        this.nanoClock = nanoClock;
        this.longestStep = longestStep;
        this.onDeath = onDeath;
        this.stepping = new HandStepping(nanoClock);
    }

    /** Starts the threads. */
    public Engine start() {
        thread.start();
        watch.start();
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
     * {@inheritDoc}
     *
     * <p>The prompt is computed once, and the answers share its blocks.
     *
     * @throws RefusedException also if the queue is full or too small, or the device hangs
     */
    @Override
    public List<Generation> submit(GenerateRequest request, List<GenerationListener> listeners) {
        try {
            return submit(request, listeners, /* madeUp */ false);
        } catch (RefusedException e) {
            loop.observations().refused(e.reason());
            throw e;
        }
    }

    /** The same for a request of the warm-up's, which counts as work, but not as a request. */
    List<Generation> submitMadeUp(GenerateRequest request, List<GenerationListener> listeners) {
        return submit(request, listeners, /* madeUp */ true);
    }

    @Override
    public RefusedException refuse(FailureReason reason, String message) {
        loop.observations().refused(reason);
        return new RefusedException(reason, message);
    }

    private List<Generation> submit(GenerateRequest request, List<GenerationListener> listeners, boolean madeUp) {
        requireMoving();
        loop.commands().requireFitting(listeners.size());           // before a prompt is hashed and read so many times
        long now = nanoClock.getAsLong();
        List<Sequence> sequences = intake.accept(request, listeners.size(), now);
        List<Generation> generations = new ArrayList<>();
        for (int i = 0; i < listeners.size(); i++) {
            generations.add(new Generation(sequences.get(i), listeners.get(i), now, madeUp));
        }
        loop.commands().submit(generations);
        LockSupport.unpark(thread);
        return generations;
    }

    /** Gives the generation's blocks back within a step or two. */
    @Override
    public void cancel(Generation generation) {
        loop.commands().cancel(generation);
        LockSupport.unpark(thread);
    }

    @Override
    public void stop(Generation generation) {
        loop.commands().stop(generation);
        LockSupport.unpark(thread);
    }

    /**
     * Forgets every cached prefix that no sequence holds. Who asks before it is done shares the answer.
     *
     * @return true if nothing is cached any more, false if some sequence holds blocks: these stay, to be found again;
     *         cancelled if the engine stops
     */
    public CompletableFuture<Boolean> resetPrefixCache() {
        CompletableFuture<Boolean> done = loop.commands().resetPrefixCache();
        LockSupport.unpark(thread);
        return done;
    }

    /** The shape of the pool of blocks. */
    public KvCacheSettings cacheSettings() {
        return loop.cacheSettings();
    }

    /**
     * Looks at the engine's books on its thread, between two steps, without changing anything.
     *
     * @param at reads, quickly, and keeps nothing of what it is given
     * @return what it has seen, completed on the engine's thread; cancelled if the engine stops
     * @throws RefusedException if too many looks are waiting
     */
    public <T> CompletableFuture<T> look(Function<EngineBooks, T> at) {
        var seen = new CompletableFuture<T>();
        loop.commands().look(new EngineLook<>(at, seen));
        LockSupport.unpark(thread);
        return seen;
    }

    /**
     * Holds the engine between two steps: what is asked of it is taken, but nothing is computed, until it is released
     * or nobody has held or stepped it for a minute.
     *
     * @return done when it rests, on its thread; cancelled if it is released before
     * @throws SteppingException if the worker is going away
     */
    public CompletableFuture<Void> hold() {
        CompletableFuture<Void> rests = stepping.hold();
        LockSupport.unpark(thread);
        return rests;
    }

    /** True while it is to be stepped by hand. */
    public boolean isHeld() {
        return stepping.isHeld();
    }

    /** Lets a held engine go on. Does nothing to one that is not held. */
    public void release() {
        stepping.release();
        LockSupport.unpark(thread);
    }

    /** Lets a held engine go on for good: what is alive is to come to its end. */
    public void endHolds() {
        stepping.end();
        LockSupport.unpark(thread);
    }

    /**
     * Computes exactly one step of an engine that is held.
     *
     * @return what was done, on the engine's thread; cancelled if the engine is released before
     * @throws SteppingException if it is not held, or another step is being computed
     */
    public CompletableFuture<Stepped> stepByHand() {
        CompletableFuture<Stepped> step = stepping.step();
        LockSupport.unpark(thread);
        return step;
    }

    @Override
    public int mostGenerations() {
        return loop.mostGenerations();
    }

    /** The state after the last turn. */
    public EngineSnapshot snapshot() {
        return loop.snapshot();
    }

    /** True while a step takes longer than it may: nothing new is taken. */
    public boolean isHanging() {
        return isHanging(loop.stepAgeNanos());
    }

    private boolean isHanging(long stepAgeNanos) {
        return stepAgeNanos >= longestStep.toNanos();
    }

    /** Whoever asks may be served elsewhere at once. */
    private void requireMoving() {
        long age = loop.stepAgeNanos();
        if (isHanging(age)) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "a step has been running here for "
                    + Duration.ofNanos(age).toMillis() + " ms, of " + longestStep.toMillis() + " ms that it may");
        }
    }

    /** Refuses new work and fails what is alive as {@link FailureReason#SHUTTING_DOWN}. */
    @Override
    public void close() {
        stopping = true;
        LockSupport.unpark(thread);
        LockSupport.unpark(watch);
        try {
            thread.join(STOP_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void watch() {
        var steps = new StepWatch(longestStep);
        StepWatch.Verdict before = StepWatch.Verdict.MOVES;
        while (!stopping) {
            long age = loop.stepAgeNanos();
            StepWatch.Verdict now = steps.look(age);
            if (now == StepWatch.Verdict.DEAD) {
                onDeath.accept(new StepHangsException(Duration.ofNanos(age), longestStep));
                return;
            }
            if (now != before) {
                log.warn(now == StepWatch.Verdict.HANGS
                        ? "a step takes longer than the {} that it may: nothing new is taken, and at twice that this "
                                + "worker ends"
                        : "the step that took longer than {} has ended: requests are taken again", longestStep);
            }
            before = now;
            LockSupport.parkNanos(this, steps.intervalNanos());
        }
    }

    private void turn() {
        try {
            while (!stopping) {
                if (stepping.isHeld()) {
                    turnByHand();
                } else {
                    loop.step();
                    if (!loop.hasWork()) {
                        LockSupport.parkNanos(this, MAX_SLEEP_NANOS);
                    }
                }
            }
            loop.abandon(FailureReason.SHUTTING_DOWN, "this worker is going away");
        } catch (RuntimeException | Error e) {
            try {
                loop.abandon(FailureReason.ENGINE_FAILURE, "the engine broke: " + e.getMessage());
            } finally {
                onDeath.accept(e);
            }
        } finally {
            stepping.end();
        }
    }

    private void turnByHand() {
        loop.rest();
        stepping.rests();
        if (stepping.wantsStep()) {
            stepping.stepped(loop.stepByHand());
        } else if (loop.commands().isEmpty()) {
            LockSupport.parkNanos(this, MAX_SLEEP_NANOS);
        }
    }
}
