package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.flightrecorder.AllocationFailureEvent;
import dev.warmpath.worker.flightrecorder.PreemptionEvent;
import dev.warmpath.worker.flightrecorder.SwapEvent;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The first half of a decision: the running sequences go on, in order of admission, as far as the budget goes. One that
 * finds no block takes those of a victim, who waits again.
 *
 * <p>Nobody is preempted while a step is in flight, for that step writes to the victim's blocks: whoever lacks blocks
 * then waits until all have settled, and so does everybody else, lest it never gets so far. So do all when a row was
 * unusable: the news wait for that, and would wait for ever if others joined.
 *
 * <p>Answers may outgrow a step's room for what adjusts their logits. Who finds none is passed over, and who was passed
 * over first is sure of it in the next decision: so all take turns, and each gets on.
 */
final class Serving {

    private final SchedulerSettings settings;
    private final int contextLength;
    private final KvCacheManager cache;
    private final ArrayList<Sequence> running;
    private final WaitingQueue waiting;
    private final BatchesInFlight inFlight;
    /** The place in {@link #running} of the one being served. */
    private int cursor;
    /** Somebody lacks blocks, or keys were taken back: all wait until nothing is in flight. */
    private boolean drains;
    private long decision;
    /** Of those that were passed over, the first. */
    private @Nullable Sequence owed;
    private long recomputePreemptions;
    private long swapPreemptions;

    Serving(SchedulerSettings settings, int contextLength, KvCacheManager cache, ArrayList<Sequence> running,
            WaitingQueue waiting, BatchesInFlight inFlight) {
        this.settings = settings;
        this.contextLength = contextLength;
        this.cache = cache;
        this.running = running;
        this.waiting = waiting;
        this.inFlight = inFlight;
    }

    /**
     * Adds the running sequences to a batch.
     *
     * @return true if others may be admitted to it: nobody had to give way, and nobody waits for steps in flight
     */
    boolean serve(ScheduledBatch batch) {
        drains = inFlight.withholds() || drains && !inFlight.isEmpty();
        long preemptionsBefore = recomputePreemptions + swapPreemptions;
        decision++;
        serveRunning(batch, owed != null && owed.state() == Alive.RUNNING ? owed : null);
        if (batch.isEmpty() && owed != null && !drains) {
            serveRunning(batch, null);      // room was kept for one that had to give way itself
        }
        owed = longestPassedOver();
        return !drains && recomputePreemptions + swapPreemptions == preemptionsBefore;
    }

    private void serveRunning(ScheduledBatch batch, @Nullable Sequence first) {
        batch.keepLogitEntries(first);
        for (cursor = 0; cursor < running.size() && settings.budget(batch) > 0 && !drains; cursor++) {
            Sequence sequence = running.get(cursor);
            if (sequence.drawsLeft(contextLength) == 0) {
                continue; // the steps in flight draw all that it may have
            }
            int tokenCount = Math.min(settings.chunk(sequence.tokens().uncomputedTokens()), settings.budget(batch));
            if (!batch.takes(sequence, tokenCount)) {
                sequence.lacksEntriesSince = sequence.lacksEntriesSince == 0 ? decision : sequence.lacksEntriesSince;
            } else if (extendOrPreempt(sequence, tokenCount, batch)) {
                batch.add(sequence, tokenCount);
                sequence.lacksEntriesSince = 0;
            }
        }
        batch.keepLogitEntries(null);
    }

    private @Nullable Sequence longestPassedOver() {
        Sequence longest = null;
        for (int i = 0; i < running.size(); i++) {
            Sequence sequence = running.get(i);
            if (sequence.lacksEntriesSince != 0
                    && (longest == null || sequence.lacksEntriesSince < longest.lacksEntriesSince)) {
                longest = sequence;
            }
        }
        return longest;
    }

    /** Takes blocks from victims until there are enough. @return false if the sequence itself had to go, or waits */
    private boolean extendOrPreempt(Sequence sequence, int tokenCount, ScheduledBatch batch) {
        while (!cache.extend(sequence.tokens(), tokenCount)) {
            AllocationFailureEvent.record(sequence.requestId(), /* running */ true, tokenCount, cache.freeBlocks());
            if (!inFlight.isEmpty()) {
                drains = true;
                return false;
            }
            if (running.size() == 1) {
                throw new IllegalStateException(sequence + " is alone and finds no block, " + cache.freeBlocks()
                        + " of " + cache.usableBlocks() + " are free");
            }
            Sequence victim = victim();
            preempt(victim, batch);
            if (victim == sequence) {
                return false;
            }
        }
        return true;
    }

    private Sequence victim() {
        Sequence victim = running.getLast();
        if (settings.policy() == SchedulingPolicy.PRIORITY) {
            for (int i = 0; i < running.size(); i++) {
                if (victim.isBefore(running.get(i))) {
                    victim = running.get(i);
                }
            }
        }
        return victim;
    }

    /** The victim gives back what this step gave it, and all its blocks; swap space keeps them if there is room. */
    private void preempt(Sequence victim, ScheduledBatch batch) {
        int place = running.indexOf(victim);
        running.remove(place);
        if (place <= cursor) {
            cursor--;
        }
        if (batch.remove(victim)) {
            cache.withdraw(victim.tokens());
        }
        int tokens = victim.tokens().computedTokens();
        long swappedBefore = cache.swappedOutBlocks();
        boolean swapped = cache.swapOut(victim.tokens());
        if (swapped) {
            swapPreemptions++;
            inFlight.addSwappedOut(victim);
            SwapEvent.record(victim.requestId(), /* out */ true, cache.swappedOutBlocks() - swappedBefore);
        } else {
            cache.release(victim.tokens());
            recomputePreemptions++;
        }
        victim.scheduledTokens = 0;
        victim.lacksEntriesSince = 0;
        victim.freeBlocksWhenRefused = Sequence.NEVER_REFUSED;
        victim.become(Alive.PREEMPTED);
        PreemptionEvent.record(victim.requestId(), swapped, tokens, victim.preemptionCount());
        waiting.add(victim);
    }

    long recomputePreemptions() {
        return recomputePreemptions;
    }

    long swapPreemptions() {
        return swapPreemptions;
    }
}
