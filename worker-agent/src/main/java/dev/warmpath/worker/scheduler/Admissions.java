package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.flightrecorder.AllocationFailureEvent;
import dev.warmpath.worker.flightrecorder.SwapEvent;
import dev.warmpath.worker.kvcache.Admission;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.PrefixHit;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.ArrayList;

/**
 * The second half of a decision: waiting sequences begin, in {@link AdmissionOrder}, each with what is cached of it or
 * what its leader has, as long as there are places, budget and blocks. Nobody jumps the queue for lack of budget.
 *
 * <p>Who has rules for logits needs room for their entries in each step, beside those that run. While there is none, it
 * keeps up others with rules, but nobody without.
 */
final class Admissions {

    private enum Verdict { ADMITTED, LACKS_BUDGET, LACKS_BLOCKS, LACKS_ENTRIES }

    /** So many tokens each answer may draw before those that run together outgrow a step's room. */
    private static final int ROOM_TO_GROW = 1_024;

    private final SchedulerSettings settings;
    private final KvCacheManager cache;
    private final ArrayList<Sequence> running;
    private final WaitingQueue waiting;
    private final AdmissionOrder order;
    /** What the last one tried asked for. */
    private Admission asked;

    Admissions(SchedulerSettings settings, KvCacheManager cache, ArrayList<Sequence> running, WaitingQueue waiting) {
        this.settings = settings;
        this.cache = cache;
        this.running = running;
        this.waiting = waiting;
        this.asked = Admission.of(1).withWholeSequence(settings.reserveWholeSequence());
        this.order = new AdmissionOrder(waiting, cache, settings);
    }

    void admit(ScheduledBatch batch, long nowNanos) {
        order.begin(nowNanos);
        while (running.size() < settings.maxSequences() && settings.budget(batch) > 0) {
            int place = order.next();
            if (place == AdmissionOrder.NOBODY) {
                return;
            }
            Sequence sequence = waiting.get(place);
            switch (admit(sequence, batch)) {
                case ADMITTED -> {
                    waiting.remove(place);
                    running.add(sequence);
                    sequence.become(Alive.RUNNING);
                    if (sequence.admittedNanos == Sequence.NEVER) {
                        sequence.admittedNanos = nowNanos;
                        sequence.noteCachedTokens();
                    }
                    order.admitted(sequence);
                }
                case LACKS_BLOCKS -> order.refused(sequence);
                case LACKS_ENTRIES -> order.lacksEntries();
                case LACKS_BUDGET -> {
                    return;
                }
            }
        }
    }

    private Verdict admit(Sequence sequence, ScheduledBatch batch) {
        if (!hasRoomForEntries(sequence, batch.maxLogitEntries())) {
            return Verdict.LACKS_ENTRIES;
        }
        if (forkFromLeader(sequence, batch)) {
            return Verdict.ADMITTED;
        }
        TokenSequence tokens = sequence.tokens();
        PrefixHit hit = cache.match(tokens);
        int wanted = settings.chunk(tokens.tokenCount() - cache.resumableTokens(tokens, hit));
        if (wanted > settings.budget(batch) && !settings.chunkedPrefill()) {
            return Verdict.LACKS_BUDGET;
        }
        int tokenCount = Math.min(wanted, settings.budget(batch));
        long swappedBefore = cache.swappedInBlocks();
        if (!cache.admit(tokens, hit, admission(tokenCount))) {
            AllocationFailureEvent.record(sequence.requestId(), /* running */ false, tokenCount, cache.freeBlocks());
            return Verdict.LACKS_BLOCKS;
        }
        if (cache.swappedInBlocks() > swappedBefore) {
            SwapEvent.record(sequence.requestId(), /* out */ false, cache.swappedInBlocks() - swappedBefore);
        }
        batch.add(sequence, tokenCount);
        return Verdict.ADMITTED;
    }

    /** Whoever has rules alone is admitted: any one sequence's entries have room. */
    private boolean hasRoomForEntries(Sequence sequence, int most) {
        if (!sequence.adjustsLogits()) {
            return true;
        }
        long others = 0;
        for (int i = 0; i < running.size(); i++) {
            others += running.get(i).logitEntriesAfter(ROOM_TO_GROW);
        }
        return others == 0 || others + sequence.logitEntriesAfter(ROOM_TO_GROW) <= most;
    }

    /** Who waits in vain asks for the same in every step: nothing is allocated for that. */
    private Admission admission(int tokenCount) {
        boolean othersRun = !running.isEmpty();
        if (asked.tokenCount() != tokenCount || asked.othersRun() != othersRun) {
            asked = new Admission(tokenCount, 0, 0, false, settings.reserveWholeSequence(), othersRun);
        }
        return asked;
    }

    /**
     * What is left of the shared prompt is its last token: the first answer token is drawn from its logits.
     *
     * @return false if there is nothing to share, or no block to write to
     */
    private boolean forkFromLeader(Sequence sequence, ScheduledBatch batch) {
        Sequence leader = sequence.leaderToFork();
        if (leader == null) {
            return false;
        }
        int tokenCount = sequence.tokens().tokenCount() - cache.shareableTokens(leader.tokens(), sequence.tokens());
        boolean forks = tokenCount <= settings.budget(batch)
                && cache.fork(leader.tokens(), sequence.tokens(), admission(tokenCount));
        if (forks) {
            batch.add(sequence, tokenCount);
        }
        return forks;
    }
}
