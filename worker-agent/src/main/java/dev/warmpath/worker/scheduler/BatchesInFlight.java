package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.SequenceState.Failed;
import dev.warmpath.worker.scheduler.SequenceState.Finished;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * The batches that are being computed, oldest first, and the objects that take turns in being one.
 *
 * <p>Keeps the fence: blocks of a sequence that is over are given back only when no step in flight writes to them, for
 * whoever got them next would find them overwritten.
 */
final class BatchesInFlight {

    private final KvCacheManager cache;
    private final int contextLength;
    private final ScheduledBatch[] batches;
    /** Index of the oldest in flight; the one to be written next is {@code count} behind it. */
    private int oldest;
    private int count;
    /** Keys were taken back while others were in flight: what is announced before all have settled would name them. */
    private boolean withholds;
    /** Since the last batch settled: whether the copies were made is not known yet. */
    private final ArrayList<Sequence> swappedOut = new ArrayList<>();

    BatchesInFlight(SchedulerSettings settings, KvCacheManager cache, int contextLength) {
        this.cache = cache;
        this.contextLength = contextLength;
        batches = new ScheduledBatch[settings.maxBatchesInFlight()];
        for (int i = 0; i < batches.length; i++) {
            batches[i] = new ScheduledBatch(settings.maxSequences(), settings.steps());
        }
    }

    /** As {@link ScheduledBatch#limitLogitEntries}. */
    void limitLogitEntries(int most) {
        for (ScheduledBatch batch : batches) {
            batch.limitLogitEntries(most);
        }
    }

    /** How many batches are neither settled nor failed. */
    int count() {
        return count;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** True if as many are in flight as may be. */
    boolean isFull() {
        return count == batches.length;
    }

    /** The batch that set off last, whether it has settled or not; without entries if that was long ago. */
    ScheduledBatch latest() {
        return get(count + batches.length - 1);
    }

    /** @throws IllegalStateException if nothing is in flight */
    ScheduledBatch oldest() {
        if (count == 0) {
            throw new IllegalStateException("no batch is in flight");
        }
        return get(0);
    }

    /**
     * The object for the next batch, emptied.
     *
     * @throws IllegalStateException if as many are in flight as may be
     */
    ScheduledBatch begin() {
        if (isFull()) {
            throw new IllegalStateException(count == 1
                    ? "a batch of " + get(0).size() + " sequences is neither settled nor failed"
                    : count + " batches are neither settled nor failed");
        }
        for (int age = count; age < batches.length; age++) {
            get(age).clear(); // the others as well: an idle engine remembers nobody's tokens
        }
        return get(count);
    }

    /**
     * The batch begun last is complete and sets off. What it draws counts as pending from here on, and all that it
     * draws but the last as computed.
     */
    void depart() {
        ScheduledBatch batch = get(count);
        for (int entry = 0; entry < batch.size(); entry++) {
            int draws = batch.drawCount(entry);
            TokenSequence tokens = batch.sequence(entry).tokens();
            tokens.expect(draws);
            if (draws > 1 && !cache.extend(tokens, draws - 1)) {
                throw new IllegalStateException(batch.sequence(entry) + " finds no block to draw ahead, "
                        + cache.freeBlocks() + " are free");
            }
        }
        batch.complete(cache.eventCount());
        count++;
    }

    /**
     * Settles the next step of the oldest batch, and with its last step the batch. A sequence whose row was unusable
     * fails, and what it holds is not to be found any more.
     *
     * @param running holders of blocks beside those that are over
     * @return true if a sequence ended with this step
     */
    boolean settle(ScheduledBatch batch, int[] sampledTokens, List<Sequence> running) {
        requireOldest(batch);
        int step = batch.settledSteps();
        if (sampledTokens.length < batch.rowCount(step)) {
            throw new IllegalArgumentException(
                    sampledTokens.length + " rows drawn from, the batch has " + batch.rowCount(step));
        }
        boolean anyOver = false;
        List<TokenSequence> spoiled = List.of();
        for (int entry = 0; entry < batch.size(); entry++) {
            Sequence sequence = batch.sequence(entry);
            int row = batch.row(entry, step);
            boolean lives = row != ScheduledBatch.NO_ROW && !sequence.isOver();
            boolean unusable = row != ScheduledBatch.NO_ROW && sampledTokens[row] == ScheduledBatch.UNUSABLE;
            boolean masked = lives && sampledTokens[row] == ScheduledBatch.MASKED;
            boolean takes = lives && !unusable && !masked && batch.sampleIndex(entry, step) != ScheduledBatch.NO_SAMPLE;
            batch.setOutcome(entry, takes, masked || lives && unusable);
            if (step == 0 && lives && batch.scoredCount(entry) > 0) {
                sequence.noteScored(batch.firstScored(entry) - 1 + batch.scoredCount(entry));
            }
            if (masked) {
                sequence.become(failure(FailureReason.RULES_LEAVE_NOTHING, sequence,
                        "the request's own rules leave no token that could be drawn"));
            }
            if (unusable && spoil(sequence)) {
                spoiled = spoiled.isEmpty() ? new ArrayList<>() : spoiled;
                spoiled.add(sequence.tokens());
            }
            anyOver |= masked || lives && unusable || takes && append(sequence, sampledTokens[row]);
        }
        if (!spoiled.isEmpty()) {
            cache.invalidate(spoiled, holders(running));            // all at once: a sick device spoils every row
            withholds = true;
        }
        if (batch.stepSettled()) {
            land(batch, running);
        }
        return anyOver;
    }

    /**
     * Also if it is over: what was written for it may be announced all the same.
     *
     * @return false if it was spoiled before
     */
    private boolean spoil(Sequence sequence) {
        if (!sequence.isOver()) {
            sequence.become(failure(FailureReason.UNUSABLE_LOGITS, sequence,
                    "the model gives no logits that a token could be drawn from"));
        }
        boolean wasSound = !sequence.spoiled;
        sequence.spoiled = true;
        return wasSound;
    }

    private static Failed failure(FailureReason reason, Sequence sequence, String what) {
        return new Failed(reason, "after " + sequence.tokens().tokenCount() + " tokens " + what);
    }

    private List<TokenSequence> holders(List<Sequence> running) {
        List<TokenSequence> holders = new ArrayList<>();
        running.forEach(each -> holders.add(each.tokens()));
        addLeaving(holders);
        return holders;
    }

    /** True if nothing may be announced, nor anybody served, before all in flight have settled. */
    boolean withholds() {
        return withholds;
    }

    private boolean append(Sequence sequence, int token) {
        Finished end = sequence.append(token, contextLength);
        if (end == null) {
            return false;
        }
        sequence.become(end);
        return true;
    }

    private void land(ScheduledBatch batch, List<Sequence> running) {
        for (int entry = 0; entry < batch.size(); entry++) {
            cache.settle(batch.sequence(entry).tokens(), batch.computedTokens(entry));
            batch.sequence(entry).batchesInFlight--;
        }
        if (withholds && count == 1) {
            resumeKeys(batch, running);
        }
        for (int entry = 0; entry < batch.size(); entry++) {
            if (batch.sequence(entry).isOver()) {
                releaseIfUnused(batch.sequence(entry));
            }
        }
        swappedOut.clear();
        removeOldest();
    }

    /** Before the others that are over are released, so that what they leave is found. */
    private void resumeKeys(ScheduledBatch last, List<Sequence> running) {
        for (int entry = 0; entry < last.size(); entry++) {
            if (last.sequence(entry).spoiled) {
                releaseIfUnused(last.sequence(entry));
            }
        }
        cache.resumeKeys(holders(running));
        withholds = false;
    }

    /**
     * A step failed, and with it all that is in flight.
     *
     * @param running as for {@link #settle}
     * @return the sequences that ended by this
     */
    List<Sequence> fail(Failed failure, List<Sequence> running) {
        oldest();
        withdrawKeys();
        List<Sequence> failed = new ArrayList<>();
        for (; count > 0; removeOldest()) {
            ScheduledBatch batch = get(0);
            for (int entry = 0; entry < batch.size(); entry++) {
                Sequence sequence = batch.sequence(entry);
                sequence.batchesInFlight--;
                if (!sequence.isOver()) {
                    sequence.become(failure);
                    failed.add(sequence);
                }
                releaseIfUnused(sequence);
            }
        }
        for (Sequence sequence : swappedOut) {
            cache.dropSwapped(sequence.tokens());
        }
        swappedOut.clear();
        if (withholds) {
            cache.resumeKeys(holders(running));
            withholds = false;
        }
        return failed;
    }

    /**
     * All of them before any block is released: without a key it is reused first. Whoever was admitted last goes first
     * and whole, since only a later one builds on what a sequence is still to compute: so keys go leaf up.
     */
    private void withdrawKeys() {
        var admitted = new LinkedHashSet<Sequence>();
        for (int age = 0; age < count; age++) {
            for (int entry = 0; entry < get(age).size(); entry++) {
                admitted.add(get(age).sequence(entry));
            }
        }
        for (Sequence sequence : admitted.reversed()) {
            cache.withdraw(sequence.tokens());
        }
    }

    /** A sequence is over; its blocks are given back now, or when the last step that writes to them has settled. */
    void end(Sequence sequence, SequenceState last) {
        sequence.become(last);
        releaseIfUnused(sequence);
    }

    private void releaseIfUnused(Sequence sequence) {
        if (sequence.batchesInFlight == 0) {
            cache.release(sequence.tokens());
        }
    }

    /** Its blocks were moved to swap space; if the next batch fails, the copies there may not have been made. */
    void addSwappedOut(Sequence sequence) {
        swappedOut.add(sequence);
    }

    /** Adds the sequences that are over and still hold blocks. */
    void addLeaving(List<TokenSequence> holders) {
        for (int age = 0; age < count; age++) {
            for (int entry = 0; entry < get(age).size(); entry++) {
                Sequence sequence = get(age).sequence(entry);
                if (sequence.isOver() && !holders.contains(sequence.tokens())) {
                    holders.add(sequence.tokens());
                }
            }
        }
    }

    private ScheduledBatch get(int age) {
        return batches[(oldest + age) % batches.length];
    }

    private void removeOldest() {
        oldest = (oldest + 1) % batches.length;
        count--;
    }

    private void requireOldest(ScheduledBatch batch) {
        if (count == 0 || batch != get(0)) {
            throw new IllegalStateException("the batch is not the oldest one in flight");
        }
    }
}
