package dev.warmpath.worker.engine;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.pool.Stepped;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.engine.CommandQueue.Command;
import dev.warmpath.worker.flightrecorder.StepEvent;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PrefixCacheStats;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.scheduler.AliveLoad;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.SequenceState;
import dev.warmpath.worker.scheduler.Submission;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The worker's spine: each {@link #step} takes commands, schedules, copies, submits, settles, publishes and tells, in
 * this order. It owns scheduler, cache and model runner; one thread calls it, so nothing here is locked. Only the
 * command queue and the snapshot are for others.
 *
 * <p>If the scheduler works ahead, a turn settles the batch that the turn before submitted, while its own is computed.
 * The steps of a batch are awaited one by one, so that tokens go out as they come.
 *
 * <p>What a batch changed in the cache is published after its last step succeeded, and before anybody hears of that
 * step's tokens: the keys of a failed step are never announced. The blocks of an answer that ends in an earlier step of
 * several, or while the next batch is computed, are not announced before those have succeeded. A row whose logits are
 * unusable fails its sequence alone; if others are in flight then, nothing is announced before all have settled.
 */
public final class EngineLoop {

    private static final Logger log = LoggerFactory.getLogger(EngineLoop.class);
    private static final int MAX_COMMANDS_PER_STEP = 256;
    /** The audit reads every block: once per lull, but not for each of a quick series of lulls. */
    private static final long AUDIT_INTERVAL_NANOS = 1_000_000_000;
    /** Observations are copied so often while there is work: some kilobytes, too much for each step. */
    private static final long COPY_INTERVAL_NANOS = 100_000_000;

    private final Scheduler scheduler;
    private final KvCacheManager cache;
    private final BatchComputation computation;
    private final CommandQueue commands;
    private final BlockChangeListener announcements;
    private final Runnable told;
    private final LongSupplier nanoClock;
    private final Map<Sequence, Generation> generations = new HashMap<>();
    private final Consumer<Command> apply = this::apply;
    private final Observations observations = new Observations();

    private long steps;
    /** Handed to the device. */
    private long batches;
    private long computedTokens;
    private long generatedTokens;
    /** Requests taken, and first tokens. */
    private long news;
    private long stepNanos;
    private long lastAuditNanos;
    private boolean auditDue = true;
    /** It is stepped by hand: nothing is computed, and nothing is in flight, before the next step. */
    private boolean held;
    private EngineSnapshot.Observed observed;
    private long observedNanos;
    /** This turn's, while somebody records. */
    private @Nullable StepEvent phases;
    private long lapNanos;
    private volatile EngineSnapshot snapshot;
    /** True while the device is at work, or hangs. */
    private volatile boolean computing;
    private volatile long stepStartNanos;

    /**
     * Takes the bounds from the scheduler's settings.
     *
     * @param announcements hears after each step what the cache holds now
     * @param told          called when listeners have heard all that a step has brought, and once more after each turn
     * @param nanoClock     monotonic, in nanoseconds
     * @throws IllegalArgumentException if the cache has other groups than the model runner computes
     */
    public EngineLoop(Scheduler scheduler, KvCacheManager cache, ModelRunner runner,
            BlockChangeListener announcements, Runnable told, LongSupplier nanoClock) {
        requireGroups(cache.settings().groups(), runner.config());
        this.scheduler = scheduler;
        this.cache = cache;
        this.computation = new BatchComputation(
                runner, scheduler.settings().maxSequences(), this::generation);
        scheduler.limitLogitEntries(runner.maxLogitEntries());
        this.commands = new CommandQueue(scheduler.settings().maxAlive());
        this.announcements = announcements;
        this.told = told;
        this.nanoClock = nanoClock;
        this.observed = observations.observed(cache.residency());
        this.snapshot = takeSnapshot();
    }

    private static void requireGroups(List<CacheGroup> groups, ModelConfig model) {
        List<CacheGroup> wanted = model.groupWindows().stream().map(CacheGroup::ofWindow).toList();
        if (!groups.equals(wanted)) {
            throw new IllegalArgumentException(
                    "the cache has the groups %s, but the model's layers want %s".formatted(groups, wanted));
        }
    }

    CommandQueue commands() {
        return commands;
    }

    Observations observations() {
        return observations;
    }

    KvCacheSettings cacheSettings() {
        return cache.settings();
    }

    int mostGenerations() {
        return scheduler.settings().maxAlive();
    }

    /** The state after the last turn, and the age of the step that is running now; for any thread. */
    EngineSnapshot snapshot() {
        return snapshot.withStepAge(stepAgeNanos());
    }

    /** How long the device has been at one step; 0 while it is at none. For any thread: this one's may hang in it. */
    long stepAgeNanos() {
        return computing ? Math.max(0, nanoClock.getAsLong() - stepStartNanos) : 0;
    }

    /** True if a step would find something to do. */
    boolean hasWork() {
        return !scheduler.isIdle() || !commands.isEmpty();
    }

    /** One turn of the engine. @return tokens drawn; 0 while nothing but prompts, or nothing at all, is computed */
    int step() {
        held = false;
        return step(/* ahead */ true);
    }

    /** One turn in which exactly one batch is computed and settled, if there is anything to compute. */
    Stepped stepByHand() {
        long before = batches;
        int drawn = step(/* ahead */ false);
        return new Stepped(batches > before, drawn);
    }

    /**
     * A turn of an engine that is held: settles what is in flight, takes commands, ends whose deadline has passed, and
     * computes nothing else. What that changes is announced.
     */
    void rest() {
        phases = null;
        while (scheduler.batchesInFlight() > 0) {
            compute(null, /* ahead */ false);
        }
        held = true;
        long now = nanoClock.getAsLong();
        cache.beginStep(now);
        commands.drain(apply, MAX_COMMANDS_PER_STEP);
        scheduler.expire(now).forEach(expired -> tellEnd(expired, now));
        publish();
        told.run();
        snapshot = takeSnapshot();
    }

    private int step(boolean ahead) {
        phases = StepEvent.start();
        lap();
        commands.drain(apply, MAX_COMMANDS_PER_STEP);
        long now = nanoClock.getAsLong();
        ScheduledBatch batch = scheduler.schedule(now);
        for (int i = 0; i < batch.expired().size(); i++) {
            tellEnd(batch.expired().get(i), now);
        }
        if (phases != null) {
            phases.schedule = lap();
        }
        int drawn = 0;
        if (scheduler.batchesInFlight() == 0) {
            audit();
            publish();
        } else {
            drawn = compute(batch, ahead);
            if (phases != null) {
                phases.commit();
            }
        }
        told.run();
        snapshot = takeSnapshot();
        return drawn;
    }

    /** Nanoseconds since the last call in this turn; 0 while nobody records turns. */
    private long lap() {
        if (phases == null) {
            return 0;
        }
        long before = lapNanos;
        lapNanos = nanoClock.getAsLong();
        return lapNanos - before;
    }

    /** Takes no more commands, and ends everything that is alive with this reason. */
    void abandon(FailureReason reason, String message) {
        commands.close();
        commands.drain(command -> {
            switch (command) {
                case Command.Submit(Generation generation) -> generations.put(generation.sequence(), generation);
                case Command.Cancel(Generation generation) -> generations.remove(generation.sequence());
                case Command.Stop _ -> { }
                case Command.ResetPrefixCache(var done) -> done.cancel(false);
                case Command.Look(var look) -> look.cancel();
            }
        }, Integer.MAX_VALUE);
        generations.values().forEach(generation -> say(generation, listener -> listener.onFailed(reason, message)));
        told.run();
        generations.clear();
    }

    private void apply(Command command) {
        switch (command) {
            case Command.Submit(Generation generation) -> submit(generation);
            case Command.Cancel(Generation generation) -> {
                if (scheduler.cancel(generation.sequence())) {
                    long now = nanoClock.getAsLong();
                    forget(generation, now);
                    observations.cancelled(generation, now);
                }
            }
            case Command.Stop(Generation generation) -> {
                if (scheduler.cancel(generation.sequence())) {
                    long now = nanoClock.getAsLong();
                    forget(generation, now);
                    observations.finished(generation, FinishReason.STOP, now);
                    say(generation, listener -> listener.onFinished(FinishReason.STOP, generation.usage()));
                }
            }
            case Command.ResetPrefixCache(var done) -> resetPrefixCache(done);
            case Command.Look(var look) -> look.take(books());
        }
    }

    private EngineBooks books() {
        return new EngineBooks(cache.view(), scheduler, this::takeSnapshot, nanoClock.getAsLong(), held);
    }

    /**
     * Announced at once, for what is admitted in the same turn may keep its own news back for long; with the next batch
     * that settles if one is in flight, whose news this would tell too early.
     */
    private void resetPrefixCache(CompletableFuture<Boolean> done) {
        boolean all = cache.resetPrefixCache();
        if (!all) {
            cache.forgetUnheld();
        }
        if (scheduler.batchesInFlight() == 0) {
            publish();
        }
        done.complete(all);
    }

    private void submit(Generation generation) {
        switch (scheduler.submit(generation.sequence(), nanoClock.getAsLong())) {
            case Submission.Accepted() -> {
                generations.put(generation.sequence(), generation);
                news++;
            }
            case Submission.Refused(FailureReason reason, String message) -> {
                commands.release(generation);
                observations.refused(reason);
                say(generation, listener -> listener.onFailed(reason, message));
            }
        }
    }

    /**
     * Submits the batch, and settles the oldest unless there is room to schedule another one first.
     *
     * @param batch null: there is none, the oldest is settled
     * @param ahead false: room or not, the oldest is settled
     */
    private int compute(@Nullable ScheduledBatch batch, boolean ahead) {
        long start = nanoClock.getAsLong();
        int drawn = 0;
        stepStartNanos = start;
        computing = true;
        try {
            computation.copy(cache.copies());
            boolean submits = false;
            if (batch != null && !batch.isEmpty()) {
                batches++;
                submits = true;
                computation.submit(batch);
            }
            if (phases != null) {
                phases.submit = lap();
            }
            if (!submits || !ahead || !scheduler.mayWorkAhead()) {
                drawn = settle(scheduler.oldestInFlight());
            }
        } catch (ComputeException e) {
            fail(e);
        } finally {
            computing = false;
        }
        auditDue = true;
        stepNanos += nanoClock.getAsLong() - start;
        return drawn;
    }

    private int settle(ScheduledBatch batch) {
        int drawn = 0;
        for (int step = 0; step < batch.stepCount(); step++) {
            int[] tokens = computation.await(batch, step);
            if (phases != null) {
                phases.wait += lap();
            }
            long now = nanoClock.getAsLong();
            stepStartNanos = now;
            scheduler.settle(batch, tokens);
            steps++;
            observations.stepDone(batch, step, now);
            computedTokens += batch.totalTokens(step);
            if (step + 1 == batch.stepCount()) {
                publish(batch);
            }
            if (phases != null) {
                phases.settle += lap();
            }
            tell(batch, step, now);
            told.run();
            drawn += batch.sampleCount(step);
            if (phases != null) {
                phases.tell += lap();
                phases.deviceSteps++;
                phases.sequences = Math.max(phases.sequences, batch.rowCount(step));
                phases.prefillTokens += batch.prefillTokens(step);
                phases.decodeTokens += batch.decodeTokens(step);
            }
        }
        return drawn;
    }

    /** One failed step fails all in flight: those behind it read what it was to write. */
    private void fail(ComputeException e) {
        computation.discard();
        List<Sequence> failed = scheduler.fail("the device failed: " + e.getMessage());
        publish();
        long now = nanoClock.getAsLong();
        failed.forEach(sequence -> tellEnd(sequence, now));
    }

    /** What was changed for batches that are still in flight is theirs to publish. */
    private void publish(ScheduledBatch settled) {
        if (scheduler.batchesInFlight() == 0) {
            publish();
        } else if (!scheduler.withholdsNews()) {
            announce(cache.drainChanges(settled.eventCount()));
        }
    }

    /** Nothing is in flight: all that changed is so. */
    private void publish() {
        announce(cache.drainChanges());
    }

    private void announce(List<BlockChange> changes) {
        if (!changes.isEmpty()) {
            announcements.onBlockChanges(changes);
        }
    }

    private void tell(ScheduledBatch batch, int step, long nowNanos) {
        int promptRow = computation.firstPromptRow();
        for (int entry = 0; entry < batch.size(); entry++) {
            if (step == 0 && batch.scoredCount(entry) > 0) {
                tellPrompt(batch, entry, promptRow);
                promptRow += batch.scoredCount(entry);
            }
            if (batch.tookToken(entry)) {
                Sequence sequence = batch.sequence(entry);
                int drawn = batch.sampleIndex(entry, step);
                generatedTokens++;
                Generation generation = generation(sequence);
                observations.drew(generation, nowNanos);
                news += sequence.completionTokens() == 1 ? 1 : 0;
                tellToken(generation, sequence.tokens().token(sequence.tokens().tokenCount() - 1),
                        computation.scores(drawn, sequence.logprobs().drawnAlternatives()));
                if (sequence.isOver()) {
                    tellEnd(sequence, nowNanos);
                }
            } else if (batch.failed(entry)) {
                Sequence failed = batch.sequence(entry);
                log.atLevel(isOwnFault(failed) ? Level.DEBUG : Level.WARN).log("{}: {}", failed, failed.state());
                tellEnd(failed, nowNanos);
            }
        }
    }

    /** Anybody can ask for such an end as often as they like. */
    private static boolean isOwnFault(Sequence failed) {
        return failed.state() instanceof SequenceState.Failed(var reason, var _)
                && reason == FailureReason.RULES_LEAVE_NOTHING;
    }

    /** Of who is alive and well. @param firstRow that scores a token of its prompt */
    private void tellPrompt(ScheduledBatch batch, int entry, int firstRow) {
        Sequence sequence = batch.sequence(entry);
        Generation generation = generations.get(sequence);
        if (generation == null || batch.failed(entry) || generation.isSilenced()) {
            return;
        }
        try {
            for (int i = 0; i < batch.scoredCount(entry); i++) {
                generation.listener().onPrompt(
                        computation.promptScores(firstRow + i, sequence.logprobs().alternatives()));
            }
        } catch (RuntimeException e) {
            cancelBroken(generation, e);
        }
    }

    private void tellToken(Generation generation, int token, TokenScores scores) {
        if (generation.isSilenced()) {
            return;
        }
        try {
            generation.listener().onToken(token, scores);
        } catch (RuntimeException e) {
            cancelBroken(generation, e);
        }
    }

    private void cancelBroken(Generation generation, RuntimeException broken) {
        log.warn("a listener failed, its generation is cancelled: {}", generation.sequence(), broken);
        say(generation, listener ->
                listener.onFailed(FailureReason.ENGINE_FAILURE, "what the answer is written to has failed"));
        generation.silence();
        commands.cancel(generation);
    }

    private void tellEnd(Sequence sequence, long nowNanos) {
        Generation generation = generation(sequence);
        forget(generation, nowNanos);
        switch (sequence.state()) {
            case SequenceState.Finished(var reason, var _) -> {
                observations.finished(generation, reason, nowNanos);
                say(generation, listener -> listener.onFinished(reason, generation.usage()));
            }
            case SequenceState.Failed(var reason, var message) -> {
                observations.failed(generation, reason, nowNanos);
                say(generation, listener -> listener.onFailed(reason, message));
            }
            case SequenceState.Cancelled() -> { }
            case SequenceState.Alive alive -> throw new IllegalStateException(sequence + " has not ended, it is " + alive);
        }
    }

    /** Says one of the last words. A listener that breaks on it harms nobody but itself. */
    private static void say(Generation generation, Consumer<GenerationListener> lastWord) {
        if (generation.isSilenced()) {
            return;
        }
        try {
            lastWord.accept(generation.listener());
        } catch (RuntimeException e) {
            log.warn("a listener failed at its end: {}", generation.sequence(), e);
        }
    }

    private Generation generation(Sequence sequence) {
        Generation generation = generations.get(sequence);
        if (generation == null) {
            throw new IllegalStateException("nobody waits for " + sequence);
        }
        return generation;
    }

    private void forget(Generation generation, long nowNanos) {
        generations.remove(generation.sequence());
        commands.release(generation);
        if (generation.listener().wantsTimes()) {
            say(generation, listener -> listener.onOver(GenerationTimes.of(generation, nowNanos)));
        }
    }

    /** Nothing to do is the time to check the cache's books. */
    private void audit() {
        long now = nanoClock.getAsLong();
        if (auditDue && now - lastAuditNanos >= AUDIT_INTERVAL_NANOS) {
            scheduler.checkIntegrity();
            auditDue = false;
            lastAuditNanos = now;
        }
    }

    private EngineSnapshot takeSnapshot() {
        PrefixCacheStats stats = cache.stats();
        AliveLoad load = scheduler.load();
        int used = cache.usableBlocks() - cache.freeBlocks();
        return new EngineSnapshot(
                new EngineSnapshot.Load(scheduler.runningCount(), scheduler.waitingCount(),
                        scheduler.waitingForBlocksCount(), load.pendingPromptTokens(), load.pendingRequests(),
                        load.routers(), scheduler.contextTokens(), news),
                new EngineSnapshot.Pool(cache.usableBlocks(), cache.freeBlocks(), cache.announcedCount(),
                        (long) used * cache.blockSize(), scheduler.unusedSlots()),
                new EngineSnapshot.PrefixCache(
                        stats.queriedTokens(), stats.hitTokens(), stats.queriedBlocks(), stats.hitBlocks(),
                        cache.recentHitRate(), stats.collisions(), stats.evictedBlocks(), stats.resets()),
                new EngineSnapshot.Swap(cache.hostBlocks(), cache.freeHostBlocks(), cache.swappedOutBlocks(),
                        cache.swappedInBlocks()),
                new EngineSnapshot.Work(steps, stepNanos, computedTokens, generatedTokens,
                        scheduler.recomputePreemptions(), scheduler.swapPreemptions(), computation.refusedGraphs()),
                observed(), /* stepAgeNanos */ 0);
    }

    /** Copied anew now and then, and whenever there is nothing left to do. */
    private EngineSnapshot.Observed observed() {
        long now = nanoClock.getAsLong();
        if (scheduler.isIdle() || now - observedNanos >= COPY_INTERVAL_NANOS) {
            observed = observations.observed(cache.residency());
            observedNanos = now;
        }
        return observed;
    }
}
