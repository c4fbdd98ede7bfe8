package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.PrefixHit;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Decides step by step who computes how many tokens. The turn is {@link #schedule}, compute, {@link #settle} (or
 * {@link #fail}); everything else is called between turns.
 *
 * <p>A step serves the running sequences first, in order of admission, each with all its uncomputed tokens as far as
 * the budget goes. One that finds no block takes those of the last in the list, who goes to the front of the waiting
 * and starts over later: what it had computed stays cached as long as nobody needs the blocks, so it usually finds most
 * of it again. Then the waiting ones are admitted in order of arrival until one does not fit; nobody overtakes it, and
 * nobody is admitted in a step that preempted. Those are the rules of vLLM's v1 scheduler.
 *
 * <p>Every accepted sequence ends. The first of the running list is always served: what it lacks it takes from the
 * others, and alone it fits ({@link RequestLimits}); it ends at its token limit at the latest. When nobody runs, every
 * block is free and the first waiting one is admitted. A step that has somebody to serve and serves nobody would be a
 * bug, and throws.
 */
public final class Scheduler {

    private final SchedulerSettings settings;
    private final RequestLimits limits;
    private final KvCacheManager cache;
    private final ArrayDeque<Sequence> waiting = new ArrayDeque<>();
    /** In order of admission. */
    private final ArrayList<Sequence> running;
    private final ScheduledBatch batch;
    private boolean batchInFlight;
    private long preemptions;

    /** @throws IllegalArgumentException if the three do not go together */
    public Scheduler(SchedulerSettings settings, RequestLimits limits, KvCacheManager cache) {
        if (limits.blockSize() != cache.blockSize() || limits.cacheBlocks() > cache.usableBlocks()) {
            throw new IllegalArgumentException("limits promise " + limits.cacheBlocks() + " blocks of "
                    + limits.blockSize() + " tokens, the cache has " + cache.usableBlocks() + " of "
                    + cache.blockSize());
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
        this.batch = new ScheduledBatch(settings.maxSequences());
    }

    /** Puts a new sequence last in the queue, or says why not. */
    public Submission submit(Sequence sequence) {
        if (sequence.state() != Alive.NEW) {
            throw new IllegalStateException(sequence + " was submitted before");
        }
        if (waiting.size() >= settings.maxWaiting()) {
            return new Submission.Refused(FailureReason.QUEUE_FULL,
                    waiting.size() + " requests are waiting, at most " + settings.maxWaiting() + " may");
        }
        Submission submission = limits.check(sequence);
        if (submission instanceof Submission.Accepted) {
            sequence.become(Alive.WAITING);
            waiting.addLast(sequence);
        }
        return submission;
    }

    /**
     * Makes the next step's batch and takes its blocks. What it lists counts as computed from here on.
     *
     * @param nowNanos a monotonic clock, for deadlines
     * @return the one reused object; to be settled or failed unless it is empty
     */
    public ScheduledBatch schedule(long nowNanos) {
        requireNothingInFlight();
        batch.clear();
        expire(nowNanos);
        boolean allServed = scheduleRunning();
        if (allServed) {
            admitWaiting();
        }
        if (batch.isEmpty() && !isIdle()) {
            throw new IllegalStateException(running.size() + " running and " + waiting.size()
                    + " waiting sequences, " + cache.freeBlocks() + " free blocks, but none can be served");
        }
        batchInFlight = !batch.isEmpty();
        return batch;
    }

    /**
     * Adds the drawn tokens to their sequences and ends those that are complete: their state says so, and their blocks
     * are free.
     *
     * @param sampledTokens [batch.sampleCount()] or longer, by {@link ScheduledBatch#sampleIndex}
     */
    public void settle(ScheduledBatch batch, int[] sampledTokens) {
        requireInFlight(batch);
        if (sampledTokens.length < batch.sampleCount()) {
            throw new IllegalArgumentException(
                    sampledTokens.length + " tokens drawn, the batch asked for " + batch.sampleCount());
        }
        batchInFlight = false;
        boolean anyOver = false;
        for (int entry = 0; entry < batch.size(); entry++) {
            TokenSequence tokens = batch.sequence(entry).tokens();
            cache.settle(tokens, tokens.computedTokens(), tokens.keyedBlocks());
            if (batch.samples(entry)) {
                Sequence sequence = batch.sequence(entry);
                FinishReason reason = sequence.append(sampledTokens[batch.sampleIndex(entry)], limits.contextLength());
                if (reason != null) {
                    end(sequence, new SequenceState.Finished(reason));
                    anyOver = true;
                }
            }
        }
        if (anyOver) {
            running.removeIf(Sequence::isOver);
        }
    }

    /**
     * Ends every sequence of a batch whose computation failed, and takes back the keys of the blocks that it was to
     * fill. Sequences that were not in the batch go on.
     */
    public void fail(ScheduledBatch batch, String message) {
        requireInFlight(batch);
        batchInFlight = false;
        // all keys first: blocks are released without them, so that they are reused first
        for (int entry = batch.size() - 1; entry >= 0; entry--) {
            cache.withdraw(batch.sequence(entry).tokens());
        }
        var failed = new SequenceState.Failed(FailureReason.ENGINE_FAILURE, message);
        for (int entry = 0; entry < batch.size(); entry++) {
            end(batch.sequence(entry), failed);
        }
        running.removeIf(Sequence::isOver);
    }

    /** Ends a sequence that nobody waits for any more. @return false if it was over, or never submitted */
    public boolean cancel(Sequence sequence) {
        requireNothingInFlight();
        if (sequence.isOver() || sequence.state() == Alive.NEW) {
            return false;
        }
        if (!running.remove(sequence)) {
            waiting.remove(sequence);
        }
        end(sequence, new SequenceState.Cancelled());
        return true;
    }

    /** True if nobody runs or waits. */
    public boolean isIdle() {
        return running.isEmpty() && waiting.isEmpty();
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
        for (Sequence sequence : running) {
            pending += sequence.pendingPromptTokens();
        }
        for (Sequence sequence : waiting) {
            pending += sequence.pendingPromptTokens();
        }
        return pending;
    }

    /** How often a sequence had to give its blocks up, since the start. */
    public long preemptions() {
        return preemptions;
    }

    /**
     * Audits the cache's books against the running sequences. Reads every block; for idle moments and tests.
     *
     * @throws IllegalStateException naming the first thing that is wrong
     */
    public void checkIntegrity() {
        List<TokenSequence> holders = new ArrayList<>(running.size());
        for (Sequence sequence : running) {
            requireState(sequence, sequence.state() == Alive.RUNNING);
            holders.add(sequence.tokens());
        }
        for (Sequence sequence : waiting) {
            boolean waits = sequence.state() == Alive.WAITING || sequence.state() == Alive.PREEMPTED;
            requireState(sequence, waits && sequence.tokens().table().blockCount() == 0);
        }
        cache.checkIntegrity(holders);
    }

    private void expire(long nowNanos) {
        expire(running.iterator(), nowNanos);
        expire(waiting.iterator(), nowNanos);
    }

    private void expire(Iterator<Sequence> queue, long nowNanos) {
        while (queue.hasNext()) {
            Sequence sequence = queue.next();
            if (sequence.isExpired(nowNanos)) {
                queue.remove();
                end(sequence, new SequenceState.Failed(FailureReason.DEADLINE_EXCEEDED,
                        "the deadline passed after " + sequence.completionTokens() + " of at most "
                                + sequence.stop().maxTokens() + " tokens"));
                batch.addExpired(sequence);
            }
        }
    }

    /** @return false if somebody was preempted */
    private boolean scheduleRunning() {
        long preemptionsBefore = preemptions;
        for (int i = 0; i < running.size() && budget() > 0; i++) {
            Sequence sequence = running.get(i);
            int tokenCount = Math.min(chunk(sequence.tokens().uncomputedTokens()), budget());
            if (!extendOrPreempt(sequence, tokenCount)) {
                break;
            }
            batch.add(sequence, tokenCount);
        }
        return preemptions == preemptionsBefore;
    }

    /** Takes blocks from the last in the list until there are enough. @return false if the sequence itself had to go */
    private boolean extendOrPreempt(Sequence sequence, int tokenCount) {
        while (!cache.extend(sequence.tokens(), tokenCount)) {
            Sequence victim = running.removeLast();
            if (running.isEmpty()) {
                throw new IllegalStateException(victim + " is alone and finds no block, " + cache.freeBlocks() + " of "
                        + cache.usableBlocks() + " are free");
            }
            preempt(victim);
            if (victim == sequence) {
                return false;
            }
        }
        return true;
    }

    private void preempt(Sequence victim) {
        cache.release(victim.tokens());
        victim.become(Alive.PREEMPTED);
        waiting.addFirst(victim);
        preemptions++;
    }

    private void admitWaiting() {
        while (!waiting.isEmpty() && running.size() < settings.maxSequences() && budget() > 0) {
            Sequence sequence = waiting.getFirst();
            PrefixHit hit = cache.match(sequence.tokens());
            int wanted = chunk(sequence.tokens().tokenCount() - hit.tokenCount());
            if (wanted > budget() && !settings.chunkedPrefill()) {
                return;
            }
            int tokenCount = Math.min(wanted, budget());
            if (!cache.admit(sequence.tokens(), hit, tokenCount)) {
                return;
            }
            waiting.removeFirst();
            running.add(sequence);
            sequence.become(Alive.RUNNING);
            batch.add(sequence, tokenCount);
        }
    }

    /** Tokens that the step may still take on. */
    private int budget() {
        return settings.maxBatchedTokens() - batch.totalTokens();
    }

    private int chunk(int tokenCount) {
        int threshold = settings.longPrefillThreshold();
        return threshold == 0 ? tokenCount : Math.min(tokenCount, threshold);
    }

    private void end(Sequence sequence, SequenceState last) {
        cache.release(sequence.tokens());
        sequence.become(last);
    }

    private void requireNothingInFlight() {
        if (batchInFlight) {
            throw new IllegalStateException("a batch of " + batch.size() + " sequences is neither settled nor failed");
        }
    }

    private void requireInFlight(ScheduledBatch batch) {
        if (batch != this.batch || !batchInFlight) {
            throw new IllegalStateException("the batch is not the one in flight");
        }
    }

    private static void requireState(Sequence sequence, boolean condition) {
        if (!condition) {
            throw new IllegalStateException(sequence + " is in the wrong list");
        }
    }
}
