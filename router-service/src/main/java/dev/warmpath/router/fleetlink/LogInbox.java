package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.prefix.KvEventApplier;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One worker's batches out of the log, between the reader, who never waits, and the worker's follower. A follower that
 * leaves the inbox full loses what is in it, sees the gap and makes its copy anew from the worker.
 */
final class LogInbox {

    /** Some 100,000 changes as engines batch them (F19); more are dearer to apply than a snapshot. */
    static final int MAX_BATCHES = 8_192;

    private final LogStream stream;
    private final BlockingQueue<KvEventBatch> batches = new LinkedBlockingQueue<>(MAX_BATCHES);

    /** The last batch that the log had and the copy, too; the follower's own. */
    private long repeated = KvEventApplier.NO_SEQUENCE;

    LogInbox(LogStream stream) {
        this.stream = stream;
    }

    LogStream stream() {
        return stream;
    }

    /** By the reader only. A snapshot replaces what waits: it is newer, or makes it superfluous. */
    void put(KvEventBatch batch) {
        if (batch.snapshot() || batches.remainingCapacity() == 0) {
            batches.clear();
        }
        batches.add(batch);
    }

    /** The next batch, or null if none comes in time. */
    @Nullable KvEventBatch poll(Duration patience) throws InterruptedException {
        return batches.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
    }

    /**
     * Whether the log can take over from the worker's own stream: its next batch is the one after {@code sequence}, or
     * it has repeated what is known up to {@code recent} and comes after it. What is known is dropped.
     *
     * @param sequence of the last batch in the copy, which is not empty
     * @param recent   what that was a moment ago: a log that has not come so far lags, and would have to be left again
     */
    boolean continues(long sequence, long recent) {
        KvEventBatch next = batches.peek();
        while (next != null && next.sequence() <= sequence) {
            batches.remove(next);
            repeated = next.sequence();
            next = batches.peek();
        }
        return next == null ? repeated >= recent : next.sequence() == sequence + 1;
    }

    /** What it repeated so far is no sign any more: it has to carry this worker's batches anew. */
    void distrust() {
        repeated = KvEventApplier.NO_SEQUENCE;
    }

    /** Whether a checkpoint waits for an empty copy. */
    boolean offersCheckpoint() {
        KvEventBatch next = batches.peek();
        return next != null && next.snapshot();
    }
}
