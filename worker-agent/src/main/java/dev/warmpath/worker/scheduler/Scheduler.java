package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.flightrecorder.EvictionEvent;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Decides who computes how many tokens. The turn is {@link #schedule}, compute, {@link #settle} once per device step
 * (or {@link #fail}).
 *
 * <p>A batch serves the running sequences first, in order of admission, each with all its uncomputed tokens as far as
 * the budget goes. One that finds no block takes those of a victim, who waits again and resumes later: from swap space
 * if there was room, otherwise by computing anew what it does not find cached, usually little. Then waiting ones are
 * admitted, but nobody in a step that preempted. {@link Serving} and {@link Admissions} are these two halves, over the
 * same lists. Those are the rules of vLLM's v1 scheduler, with swapping from v0 and without its head-of-line blocking.
 *
 * <p><b>Steps in flight.</b> With several steps per decision, or when the next batch is scheduled before the last one
 * has settled, a sequence's last tokens are drawn but not known: they count as pending, the next step takes them on the
 * device. A sequence that ends meanwhile is over at once for its caller, and what is still drawn for it is dropped; but
 * its blocks are given back only when no step writes to them any more. For the same reason nobody is preempted while a
 * step is in flight.
 *
 * <p>Every accepted sequence ends. The best of the running is always served: what it lacks it takes from the others,
 * and alone it fits ({@link RequestLimits}); it ends at its token limit at the latest. When nobody runs, every block is
 * free and the first waiting one is admitted. A step that has somebody to serve and serves nobody would be a bug, and
 * throws.
 */
public final class Scheduler {

    private final SchedulerSettings settings;
    private final RequestLimits limits;
    private final KvCacheManager cache;
    private final WaitingQueue waiting = new WaitingQueue();
    /** In order of admission. */
    private final ArrayList<Sequence> running;
    private final BatchesInFlight inFlight;
    private final Serving serving;
    private final Admissions admissions;
    private final DrawAhead drawAhead;
    private final RouterTallies routers = new RouterTallies();
    private long arrivals;

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
        this.running = new ArrayList<>(settings.maxSequences());
        this.inFlight = new BatchesInFlight(settings, cache, limits.contextLength());
        this.serving = new Serving(settings, limits.contextLength(), cache, running, waiting, inFlight);
        this.admissions = new Admissions(settings, cache, running, waiting);
        this.drawAhead = new DrawAhead(settings, limits, cache);
    }

    public SchedulerSettings settings() {
        return settings;
    }

    /** @param most adjustments of logits that a step has room for; any one sequence's have */
    public void limitLogitEntries(int most) {
        inFlight.limitLogitEntries(most);
    }

    /**
     * Takes a new sequence in, or says why not. Its tokens were checked by {@link RequestLimits#check}.
     *
     * @param nowNanos the clock of {@link #schedule}
     * @throws IllegalStateException if it was submitted before, or {@link SchedulerSettings#maxAlive} run or wait: who
     *                               submits counts those, and refuses what is too much
     */
    public Submission submit(Sequence sequence, long nowNanos) {
        if (sequence.state() != Alive.NEW) {
            throw new IllegalStateException(sequence + " was submitted before");
        }
        if (running.size() + waiting.size() >= settings.maxAlive()) {
            throw new IllegalStateException(running.size() + " sequences run and " + waiting.size() + " wait, of "
                    + settings.maxAlive() + " that may");
        }
        Submission submission = limits.checkSize(sequence);
        if (submission instanceof Submission.Accepted) {
            sequence.rank = settings.policy() == SchedulingPolicy.PRIORITY ? sequence.priority() : 0;
            sequence.arrival = arrivals++;
            sequence.arrivalNanos = nowNanos;
            sequence.become(Alive.WAITING);
            // what is cached of it is no work; and the cache is asked here once, not by each count of the work, nor for
            // those who are to share a leader's prompt: many times the same
            sequence.resumableTokens = sequence.isFollower() ? 0
                    : cache.resumableTokens(sequence.tokens(), cache.match(sequence.tokens()));
            sequence.tally = routers.tally(sequence.router());
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
        cache.beginStep(nowNanos);
        long evictedBefore = cache.evictedBlocks();
        ScheduledBatch batch = inFlight.begin();
        batch.begin(nowNanos);
        expire(nowNanos, batch.expiring());
        if (serving.serve(batch)) {
            admissions.admit(batch, nowNanos);
            if (waiting.isEmpty()) {
                drawAhead.lengthen(batch);
            }
        }
        if (!batch.isEmpty()) {
            inFlight.depart();
            if (cache.evictedBlocks() > evictedBefore) {
                EvictionEvent.record(cache.evictedBlocks() - evictedBefore, cache.freeBlocks());
            }
        } else if (inFlight.isEmpty() && !isIdle()) {
            throw new IllegalStateException(running.size() + " running and " + waiting.size()
                    + " waiting sequences, " + cache.freeBlocks() + " free blocks, but none can be served");
        }
        return batch;
    }

    /**
     * Adds the tokens that the batch's next step drew to their sequences, and ends those that are complete. After the
     * last step, what the batch computed is in the cache, and the blocks of the sequences that are over are free.
     *
     * <p>A sequence whose row was unusable fails alone. What it held is found by nobody any more, nor is what was built
     * on it: the fault may lie in any of its blocks. Once all in flight has settled, the others that hold some of these
     * blocks, and have computed usable rows over them, give them their keys back.
     *
     * @param batch         the oldest in flight
     * @param sampledTokens as many as the step has rows, or more, by {@link ScheduledBatch#row}; {@link
     *                      ScheduledBatch#UNUSABLE} or {@link ScheduledBatch#MASKED} where nothing could be drawn
     */
    public void settle(ScheduledBatch batch, int[] sampledTokens) {
        if (inFlight.settle(batch, sampledTokens, running)) {
            removeOver();
        }
    }

    /** True while the cache's changes must not be announced before all batches in flight have settled. */
    public boolean withholdsNews() {
        return inFlight.withholds();
    }

    /**
     * Ends every sequence of every batch in flight, because a step failed, and takes back the keys of all blocks that
     * they were to fill. Sequences that were in none of them go on.
     *
     * @return those that ended by this
     * @throws IllegalStateException if nothing is in flight
     */
    public List<Sequence> fail(String message) {
        List<Sequence> failed = inFlight.fail(new SequenceState.Failed(FailureReason.ENGINE_FAILURE, message), running);
        removeOver();
        return failed;
    }

    /** Ends whose deadline has passed, without a batch. @return those, to be told */
    public List<Sequence> expire(long nowNanos) {
        List<Sequence> expired = new ArrayList<>();
        expire(nowNanos, expired);
        return expired;
    }

    /** Ends a sequence that nobody waits for any more. @return false if it was over, or never submitted */
    public boolean cancel(Sequence sequence) {
        if (sequence.isOver() || sequence.state() == Alive.NEW) {
            return false;
        }
        if (!running.remove(sequence)) {
            waiting.remove(sequence);
        }
        inFlight.end(sequence, new SequenceState.Cancelled());
        return true;
    }

    /** True if nobody runs or waits and nothing is in flight. */
    public boolean isIdle() {
        return running.isEmpty() && waiting.isEmpty() && inFlight.isEmpty();
    }

    /** Batches that are neither settled nor failed. */
    public int batchesInFlight() {
        return inFlight.count();
    }

    /** True if another batch may be scheduled before the oldest one settles. */
    public boolean mayWorkAhead() {
        return !inFlight.isFull();
    }

    /** The batch to settle next. @throws IllegalStateException if none is in flight */
    public ScheduledBatch oldestInFlight() {
        return inFlight.oldest();
    }

    /** The batch that was made last, in flight or over; without entries if nothing was to be done since. */
    public ScheduledBatch latestBatch() {
        return inFlight.latest();
    }

    /** Names everybody who runs, in order of admission, and then everybody who waits, in order of service. */
    public void forEachAlive(Consumer<Sequence> consumer) {
        running.forEach(consumer);
        for (int i = 0; i < waiting.size(); i++) {
            consumer.accept(waiting.get(i));
        }
    }

    public int runningCount() {
        return running.size();
    }

    /** Sequences in the queue, preempted ones among them. */
    public int waitingCount() {
        return waiting.size();
    }

    /** Of those in the queue, the ones that were tried and found too few blocks. */
    public int waitingForBlocksCount() {
        int count = 0;
        for (int i = 0; i < waiting.size(); i++) {
            count += waiting.get(i).waitsForBlocks() ? 1 : 0;
        }
        return count;
    }

    /**
     * What running and waiting sequences still need, and whose they are. Of a waiting one's prompt that is what it did
     * not find cached on submission, or when its turn was last near.
     */
    public AliveLoad load() {
        return routers.count(running, waiting);
    }

    /** Tokens of all running and waiting sequences, drawn ones among them. */
    public long contextTokens() {
        long tokens = 0;
        for (int i = 0; i < running.size(); i++) {
            tokens += running.get(i).tokens().tokenCount();
        }
        for (int i = 0; i < waiting.size(); i++) {
            tokens += waiting.get(i).tokens().tokenCount();
        }
        return tokens;
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

    /** How often a sequence had to give its blocks up and left them to the cache, since the start. */
    public long recomputePreemptions() {
        return serving.recomputePreemptions();
    }

    /** How often one moved them to swap space, since the start. */
    public long swapPreemptions() {
        return serving.swapPreemptions();
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
        inFlight.addLeaving(holders);
        cache.checkIntegrity(holders);
    }

    private void expire(long nowNanos, List<Sequence> expired) {
        for (int i = running.size() - 1; i >= 0; i--) {
            if (running.get(i).isExpired(nowNanos)) {
                expire(running.remove(i), expired);
            }
        }
        for (int i = waiting.size() - 1; i >= 0; i--) {
            if (waiting.get(i).isExpired(nowNanos)) {
                expire(waiting.remove(i), expired);
            }
        }
    }

    private void expire(Sequence sequence, List<Sequence> expired) {
        inFlight.end(sequence, new SequenceState.Failed(FailureReason.DEADLINE_EXCEEDED,
                "the deadline passed after " + sequence.completionTokens() + " of at most "
                        + sequence.stop().maxTokens() + " tokens"));
        expired.add(sequence);
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
