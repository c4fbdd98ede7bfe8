package dev.warmpath.router.fleetlink.log;

import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One of the event streams in Redis, as this router reads it: whether what stands in it is known here up to now.
 * Written by its {@link LogReader}, read by the followers of the workers that it carries.
 */
final class LogStream {

    /** Redis is taken for lost when it has not answered the reader for this long (D4). */
    static final Duration LONGEST_SILENCE = Duration.ofSeconds(2);

    private final int index;
    private final LongSupplier nanoTime;
    private volatile long answeredNanos;
    private volatile boolean started;
    private volatile @Nullable String problem;

    /** @param awaited true if a reader is about to begin: followers give it a moment before they help themselves */
    LogStream(int index, boolean awaited, LongSupplier nanoTime) {
        this.index = index;
        this.nanoTime = nanoTime;
        this.answeredNanos = nanoTime.getAsLong() - (awaited ? 0 : LONGEST_SILENCE.toNanos() + 1);
    }

    int index() {
        return index;
    }

    LogState state() {
        if (nanoTime.getAsLong() - answeredNanos > LONGEST_SILENCE.toNanos()) {
            return LogState.LOST;
        }
        return started ? LogState.FRESH : LogState.AWAITED;
    }

    boolean isFresh() {
        return state() == LogState.FRESH;
    }

    /** Why Redis did not answer the last time, or null if it did. */
    @Nullable String problem() {
        return problem;
    }

    /** Redis has answered, be it that there is nothing new. */
    void answered() {
        answeredNanos = nanoTime.getAsLong();
        problem = null;
    }

    /** One step of a long beginning is done; of one that follows a failure only the end counts, it may fail again. */
    void progressed() {
        if (problem == null) {
            answeredNanos = nanoTime.getAsLong();
        }
    }

    void failed(String why) {
        problem = why;
    }

    /** The reader begins anew: leases, checkpoints, then entries. */
    void starting() {
        started = false;
    }

    void started() {
        answered();
        started = true;
    }
}
