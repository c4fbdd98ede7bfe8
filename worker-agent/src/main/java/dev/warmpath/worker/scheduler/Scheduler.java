package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.kvcache.Admission;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.PrefixHit;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.ArrayList;
import java.util.List;

/**
 * Decides who computes how many tokens. The turn is {@link #schedule}, compute, {@link #settle} once per device step
 * (or {@link #fail}).
 *
 * <p>A batch serves the running sequences first, in order of admission, each with all its uncomputed tokens as far as
 * the budget goes. One that finds no block takes those of a victim, who waits again and resumes later: from swap space
 * if there was room, otherwise by computing anew what it does not find cached, usually little. Then waiting ones are
 * admitted, see {@link AdmissionOrder}, but nobody in a step that preempted, and nobody jumps the queue for lack of
 * budget. Those are the rules of vLLM's v1 scheduler, with swapping from v0 and without its head-of-line blocking.
 *
 * <p><b>Steps in flight.</b> With several steps per decision, or when the next batch is scheduled before the last one
 * has settled, a sequence's last tokens are drawn but not known: they count as pending, the next step takes them on the
 * device. A sequence that ends meanwhile is over at once for its caller, and what is still drawn for it is dropped; but
 * its blocks are given back only when no step writes to them any more. For the same reason nobody is preempted while a
 * step is in flight: whoever lacks blocks then waits until all have settled.
 *
 * <p>Every accepted sequence ends. The best of the running is always served: what it lacks it takes from the others,
 * and alone it fits ({@link RequestLimits}); it ends at its token limit at the latest. When nobody runs, every block is
 * free and the first waiting one is admitted. A step that has somebody to serve and serves nobody would be a bug, and
 * throws.
 */
public final class Scheduler {

    private enum Verdict { ADMITTED, LACKS_BUDGET, LACKS_BLOCKS }

    private final SchedulerSettings settings;
    private final RequestLimits limits;
    private final KvCacheManager cache;
    private final WaitingQueue waiting = new WaitingQueue();
    private final AdmissionOrder order;
    /** In order of admission. */
    private final ArrayList<Sequence> running;
    private final DrawAhead drawAhead;
    private final Flight flight;
    private ScheduledBatch batch;
    /** The place in {@link #running} of the one being served. */
    private int cursor;
    /** Somebody lacks blocks and waits until nothing is in flight. */
    private boolean drains;
    private long arrivals;
    private long recomputePreemptions;
    private long swapPreemptions;

    /** @throws IllegalArgumentException if the three do not go together */
    public Scheduler(SchedulerSettings settings, RequestLimits limits, KvCacheManager cache) {
        if (limits.cache().blockSize() != cache.blockSize()
                || limits.cache().blockCount() - 1 > cache.usableBlocks()) {
            throw new IllegalArgumentException("limits promise " + (limits.cache().blockCount() - 1) + " blocks of "
                    + limits.cache().blockSize() + " tokens, the cache has " + cache.usableBlocks() + " of "
                    + cache.blockSize());
        }
        if (limits.mostTokensInFlight() < settings.mostTokensInFlight()) {
            throw new IllegalArgumentException("limits count with " + limits.mostTokensInFlight()
                    + " tokens in flight, the settings allow " + settings.mostTokensInFlight());
        }
        if (!settings.chunkedPrefill() && settings.maxBatchedTokens() < limits.contextLength()) {
            throw new IllegalArgumentException("max batched tokens " + settings.maxBatchedTokens()
                    + " is below the context length " + limits.contextLength()
                    + ": with chunked prefill off, a longer prompt would never be computed");
        }
        this.settings = settings;
        this.limits = limits;
        this.cache = cache;
        this.order = new AdmissionOrder(waiting, cache, settings);
        this.running = new ArrayList<>(settings.maxSequences());
        this.drawAhead = new DrawAhead(settings, limits, cache);
        this.flight = new Flight(settings, cache, limits.contextLength());
        this.batch = flight.begin();
    }

    /**
     * Takes a new sequence in, or says why not. Its tokens were checked by {@link RequestLimits#check}.
     *
     * @param nowNanos the clock of {@link #schedule}
     * @throws IllegalStateException if it was submitted before
     */
    public Submission submit(Sequence sequence, long nowNanos) {
        if (sequence.state() != Alive.NEW) {
            throw new IllegalStateException(sequence + " was submitted before");
        }
        if (waiting.size() >= settings.maxWaiting()) {
            return new Submission.Refused(FailureReason.QUEUE_FULL,
                    waiting.size() + " requests are waiting, at most " + settings.maxWaiting() + " may");
        }
        Submission submission = limits.checkSize(sequence);
        if (submission instanceof Submission.Accepted) {
            sequence.rank = settings.policy() == SchedulingPolicy.PRIORITY ? sequence.priority() : 0;
            sequence.arrival = arrivals++;
            sequence.arrivalNanos = nowNanos;
            sequence.become(Alive.WAITING);
            waiting.add(sequence);
        }
        return submission;
    }

    /**
     * Makes the next batch and takes its blocks. What it lists counts as computed from here on. The copies that the
     * cache lists ({@link KvCacheManager#copies}) come before the batch.
     *
     * @param nowNanos a monotonic clock, for deadlines and for who has waited long
     * @return one of the reused objects; to be settled or failed unless it is empty. Empty with others in flight means
     *         that those have to settle first
     */
    public ScheduledBatch schedule(long nowNanos) {
        batch = flight.begin();
        expire(nowNanos);
        drains &= !flight.isEmpty();
        if (!drains) {
            long preemptionsBefore = preemptions();
            serveRunning();
            if (preemptions() == preemptionsBefore && !drains) {
                admitWaiting(nowNanos);
                if (waiting.isEmpty()) {
                    drawAhead.lengthen(batch);
                }
            }
        }
        if (!batch.isEmpty()) {
            flight.depart();
        } else if (flight.isEmpty() && !isIdle()) {
            throw new IllegalStateException(running.size() + " running and " + waiting.size()
                    + " waiting sequences, " + cache.freeBlocks() + " free blocks, but none can be served");
        }
        return batch;
    }

    /**
     * Adds the tokens that the batch's next step drew to their sequences, and ends those that are complete. After the
     * last step, what the batch computed is in the cache, and the blocks of the sequences that are over are free.
     *
     * @param batch         the oldest in flight
     * @param sampledTokens as many as the step draws, or more, by {@link ScheduledBatch#sampleIndex(int, int)}
     */
    public void settle(ScheduledBatch batch, int[] sampledTokens) {
        if (flight.settle(batch, sampledTokens)) {
            removeOver();
        }
    }

    /**
     * Ends every sequence of every batch in flight, because a step failed, and takes back the keys of all blocks that
     * they were to fill. Sequences that were in none of them go on.
     *
     * @return those that ended by this
     * @throws IllegalStateException if nothing is in flight
     */
    public List<Sequence> fail(String message) {
        List<Sequence> failed = flight.fail(new SequenceState.Failed(FailureReason.ENGINE_FAILURE, message));
        removeOver();
        return failed;
    }

    /** Ends a sequence that nobody waits for any more. @return false if it was over, or never submitted */
    public boolean cancel(Sequence sequence) {
        if (sequence.isOver() || sequence.state() == Alive.NEW) {
            return false;
        }
        if (!running.remove(sequence)) {
            waiting.remove(sequence);
        }
        flight.end(sequence, new SequenceState.Cancelled());
        return true;
    }

    /** True if nobody runs or waits and nothing is in flight. */
    public boolean isIdle() {
        return running.isEmpty() && waiting.isEmpty() && flight.isEmpty();
    }

    /** Batches that are neither settled nor failed. */
    public int batchesInFlight() {
        return flight.count();
    }

    /** True if another batch may be scheduled before the oldest one settles. */
    public boolean mayWorkAhead() {
        return !flight.isFull();
    }

    /** The batch to settle next. @throws IllegalStateException if none is in flight */
    public ScheduledBatch oldestInFlight() {
        return flight.oldest();
    }

    public int runningCount() {
        return running.size();
    }

    /** Sequences in the queue, preempted ones among them. */
    public int waitingCount() {
        return waiting.size();
    }

    /** Prompt tokens of running and waiting sequences still to be computed; hits of waiting ones are not known yet. */
    public long pendingPromptTokens() {
        long pending = 0;
        for (int i = 0; i < running.size(); i++) {
            pending += running.get(i).pendingPromptTokens();
        }
        for (int i = 0; i < waiting.size(); i++) {
            pending += waiting.get(i).pendingPromptTokens();
        }
        return pending;
    }

    /** Slots of running sequences' blocks in which no token stands: the tails of their last blocks, in all groups. */
    public long unusedSlots() {
        long unused = 0;
        for (int i = 0; i < running.size(); i++) {
            TokenSequence tokens = running.get(i).tokens();
            unused += (long) tokens.table().blockCount() * cache.blockSize() - tokens.computedTokens();
        }
        return unused * limits.cache().groups().size();
    }

    /** How often a sequence had to give its blocks up, since the start. */
    public long preemptions() {
        return recomputePreemptions + swapPreemptions;
    }

    /** Of those, by leaving its blocks to the cache. */
    public long recomputePreemptions() {
        return recomputePreemptions;
    }

    /** Of those, by moving its blocks to swap space. */
    public long swapPreemptions() {
        return swapPreemptions;
    }

    /**
     * Audits the cache's books against the sequences that hold blocks. Reads every block; for idle moments and tests.
     *
     * @throws IllegalStateException naming the first thing that is wrong
     */
    public void checkIntegrity() {
        List<TokenSequence> holders = new ArrayList<>(running.size());
        for (Sequence sequence : running) {
            requireState(sequence, sequence.state() == Alive.RUNNING);
            holders.add(sequence.tokens());
        }
        for (int i = 0; i < waiting.size(); i++) {
            Sequence sequence = waiting.get(i);
            boolean waits = sequence.state() == Alive.WAITING || sequence.state() == Alive.PREEMPTED;
            requireState(sequence, waits && sequence.tokens().table().blockCount() == 0);
            requireState(sequence, i == 0 || waiting.get(i - 1).isBefore(sequence));
        }
        flight.addLeaving(holders);
        cache.checkIntegrity(holders);
    }

    private void expire(long nowNanos) {
        for (int i = running.size() - 1; i >= 0; i--) {
            if (running.get(i).isExpired(nowNanos)) {
                expire(running.remove(i));
            }
        }
        for (int i = waiting.size() - 1; i >= 0; i--) {
            if (waiting.get(i).isExpired(nowNanos)) {
                expire(waiting.remove(i));
            }
        }
    }

    private void expire(Sequence sequence) {
        flight.end(sequence, new SequenceState.Failed(FailureReason.DEADLINE_EXCEEDED,
                "the deadline passed after " + sequence.completionTokens() + " of at most "
                        + sequence.stop().maxTokens() + " tokens"));
        batch.addExpired(sequence);
    }

    private void serveRunning() {
        for (cursor = 0; cursor < running.size() && budget() > 0 && !drains; cursor++) {
            Sequence sequence = running.get(cursor);
            if (sequence.drawsLeft(limits.contextLength()) == 0) {
                continue; // the steps in flight draw all that it may have
            }
            int tokenCount = Math.min(chunk(sequence.tokens().uncomputedTokens()), budget());
            if (extendOrPreempt(sequence, tokenCount)) {
                batch.add(sequence, tokenCount);
            }
        }
    }

    /** Takes blocks from victims until there are enough. @return false if the sequence itself had to go, or has to wait */
    private boolean extendOrPreempt(Sequence sequence, int tokenCount) {
        while (!cache.extend(sequence.tokens(), tokenCount)) {
            if (!flight.isEmpty()) {
                drains = true;
                return false;
            }
            if (running.size() == 1) {
                throw new IllegalStateException(sequence + " is alone and finds no block, " + cache.freeBlocks()
                        + " of " + cache.usableBlocks() + " are free");
            }
            Sequence victim = victim();
            preempt(victim);
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

    private void preempt(Sequence victim) {
        int place = running.indexOf(victim);
        running.remove(place);
        if (place <= cursor) {
            cursor--;
        }
        if (batch.remove(victim)) {
            cache.withdraw(victim.tokens());
        }
        if (cache.swapOut(victim.tokens())) {
            swapPreemptions++;
            flight.addSwappedOut(victim);
        } else {
            cache.release(victim.tokens());
            recomputePreemptions++;
        }
        victim.scheduledTokens = 0;
        victim.freeBlocksWhenRefused = Sequence.NEVER_REFUSED;
        victim.become(Alive.PREEMPTED);
        waiting.add(victim);
    }

    private void admitWaiting(long nowNanos) {
        order.begin(nowNanos);
        while (running.size() < settings.maxSequences() && budget() > 0) {
            int place = order.next();
            if (place == AdmissionOrder.NOBODY) {
                return;
            }
            Sequence sequence = waiting.get(place);
            switch (admit(sequence)) {
                case ADMITTED -> {
                    waiting.remove(place);
                    running.add(sequence);
                    sequence.become(Alive.RUNNING);
                }
                case LACKS_BLOCKS -> order.refused(sequence);
                case LACKS_BUDGET -> {
                    return;
                }
            }
        }
    }

    private Verdict admit(Sequence sequence) {
        if (forkFromLeader(sequence)) {
            return Verdict.ADMITTED;
        }
        TokenSequence tokens = sequence.tokens();
        PrefixHit hit = cache.match(tokens);
        int wanted = chunk(tokens.tokenCount() - cache.resumableTokens(tokens, hit));
        if (wanted > budget() && !settings.chunkedPrefill()) {
            return Verdict.LACKS_BUDGET;
        }
        int tokenCount = Math.min(wanted, budget());
        Admission admission = Admission.of(tokenCount)
                .withWholeSequence(settings.reserveWholeSequence()).withOthersRun(!running.isEmpty());
        if (!cache.admit(tokens, hit, admission)) {
            return Verdict.LACKS_BLOCKS;
        }
        batch.add(sequence, tokenCount);
        return Verdict.ADMITTED;
    }

    /** What is left of the shared prompt is its last token: the first answer token is drawn from its logits. */
    private boolean forkFromLeader(Sequence sequence) {
        Sequence leader = sequence.leader();
        if (leader == null || sequence.state() != Alive.WAITING || leader.state() != Alive.RUNNING) {
            return false;
        }
        TokenSequence tokens = sequence.tokens();
        int tokenCount = tokens.tokenCount() - cache.shareableTokens(leader.tokens(), tokens);
        if (tokenCount == tokens.tokenCount() || tokenCount > budget()
                || !cache.fork(leader.tokens(), tokens, Admission.of(tokenCount))) {
            return false;
        }
        batch.add(sequence, tokenCount);
        return true;
    }

    /** Tokens that the step may still take on. */
    private int budget() {
        return settings.maxBatchedTokens() - batch.totalTokens();
    }

    private int chunk(int tokenCount) {
        int threshold = settings.longPrefillThreshold();
        return threshold == 0 ? tokenCount : Math.min(tokenCount, threshold);
    }

    private void removeOver() {
        int kept = 0;
        for (int i = 0; i < running.size(); i++) {
            Sequence sequence = running.get(i);
            if (!sequence.isOver()) {
                running.set(kept++, sequence);
            }
        }
        while (running.size() > kept) {
            running.removeLast();
        }
    }

    private static void requireState(Sequence sequence, boolean condition) {
        if (!condition) {
            throw new IllegalStateException(sequence + " is in the wrong list");
        }
    }
}
