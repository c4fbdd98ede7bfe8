package dev.warmpath.router.fleetlink.log;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.prefix.KvEventApplier;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One worker's batches out of the log, between the reader, who never waits, and the worker's follower. A follower that
 * leaves the inbox full loses what is in it, sees the gap and makes its copy anew from the worker.
 */
public final class LogInbox {

    /** More are dearer to apply than a snapshot (F19). */
    static final int MAX_KEYS = 100_000;
    /** What small batches may add up to. */
    static final int MAX_BATCHES = 8_192;

    private final LogStream stream;
    private final BlockingQueue<KvEventBatch> batches = new LinkedBlockingQueue<>(MAX_BATCHES);
    private final AtomicInteger waitingKeys = new AtomicInteger();

    /** The last batch that the log had and the copy, too; the follower's own. */
    private long repeated = KvEventApplier.NO_SEQUENCE;

    LogInbox(LogStream stream) {
        this.stream = stream;
    }

    /** Of the stream that has this worker's batches. */
    public LogState state() {
        return stream.state();
    }

    /** By the reader only. A snapshot replaces what waits: it is newer, or makes it superfluous. */
    public void put(KvEventBatch batch) {
        if (batch.snapshot() || batches.remainingCapacity() == 0 || waitingKeys.get() + weight(batch) > MAX_KEYS) {
            while (taken(batches.poll())) {
                continue;                                          // one by one: each is weighed out by whoever took it
            }
        }
        waitingKeys.addAndGet(weight(batch));
        batches.add(batch);
    }

    /** The next batch, or null if none comes in time. */
    public @Nullable KvEventBatch poll(Duration patience) throws InterruptedException {
        KvEventBatch next = batches.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
        taken(next);
        return next;
    }

    private boolean taken(@Nullable KvEventBatch batch) {
        waitingKeys.addAndGet(batch == null ? 0 : -weight(batch));
        return batch != null;
    }

    /** A snapshot is what would be fetched instead: it pushes nothing out. */
    private static int weight(KvEventBatch batch) {
        return batch.snapshot() ? 0 : batch.keyCount();
    }

    /**
     * Whether the log can take over from the worker's own stream: its next batch is the one after {@code sequence}, or
     * it has repeated what is known up to {@code recent} and comes after it. What is known is dropped. The mark
     * of an idle worker is such a repetition.
     *
     * @param sequence of the last batch in the copy, which is not empty
     * @param recent   what that was a moment ago: a log that has not come so far lags, and would have to be left again
     */
    public boolean continues(long sequence, long recent) {
        KvEventBatch next = batches.peek();
        while (next != null && next.sequence() <= sequence) {
            taken(batches.remove(next) ? next : null);
            repeated = next.sequence();
            next = batches.peek();
        }
        return next == null ? repeated >= recent : next.sequence() == sequence + 1 && !next.isMark();
    }

    /** What it repeated so far is no sign any more: it has to carry this worker's batches anew. */
    public void distrust() {
        repeated = KvEventApplier.NO_SEQUENCE;
    }

    /** Whether a checkpoint waits for an empty copy. */
    public boolean offersCheckpoint() {
        KvEventBatch next = batches.peek();
        return next != null && next.snapshot();
    }
}
