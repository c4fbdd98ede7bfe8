package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.prefix.ApplyOutcome.Applied;
import dev.warmpath.router.prefix.ApplyOutcome.Drift;
import dev.warmpath.router.prefix.ApplyOutcome.Gap;
import dev.warmpath.router.prefix.ApplyOutcome.Repeated;
import dev.warmpath.router.prefix.ApplyOutcome.TooManyKeys;
import dev.warmpath.router.prefix.ApplyOutcome.WrongSender;
import dev.warmpath.router.prefix.SyncState.Behind;
import dev.warmpath.router.prefix.SyncState.InStep;

/**
 * Keeps the copy of one worker's announced keys in step with its batches: a snapshot, then one batch after the other,
 * without holes, each checked against the size and digest that it carries. One thread applies; any may read the
 * numbers.
 */
public final class KvEventApplier {

    /** No snapshot has been applied, or the copy was thrown away since. */
    public static final long NO_SEQUENCE = -1;

    private final String workerId;
    private final long epoch;
    private final WorkerKeys keys;
    private volatile Position position = Position.NONE;

    public KvEventApplier(String workerId, long epoch, WorkerKeys keys) {
        this.workerId = workerId;
        this.epoch = epoch;
        this.keys = keys;
    }

    /**
     * Where the copy stands.
     *
     * @param sequence  number of the last batch inside, {@link #NO_SEQUENCE} for an empty copy that waits for a
     *                  snapshot
     * @param setSize   number of keys in the copy
     * @param setDigest digest of them
     */
    public record Position(long sequence, int setSize, long setDigest) {
        static final Position NONE = new Position(NO_SEQUENCE, 0, 0);
    }

    public Position position() {
        return position;
    }

    public ApplyOutcome apply(KvEventBatch batch) {
        if (!batch.workerId().equals(workerId) || batch.epoch() != epoch) {
            reset();
            return new WrongSender(workerId, epoch, batch.workerId(), batch.epoch());
        }
        if (!batch.snapshot()) {
            long last = position.sequence();
            if (last != NO_SEQUENCE && batch.sequence() <= last) {
                return new Repeated(batch.sequence());
            }
            if (last == NO_SEQUENCE || batch.sequence() != last + 1 || batch.isMark()) {
                reset();
                return new Gap(last + 1, batch.sequence());
            }
        }
        return applyInOrder(batch);
    }

    /**
     * Compares with a heartbeat, which finds what batches alone cannot: that the last ones are missing, or that the
     * worker's set is another than its batch of that number said. It compares with what the last batch left in the
     * copy: the index's tables are not counted again. Changes nothing.
     */
    public SyncState compare(long lastSequence, int setSize, long setDigest) {
        Position copy = position;
        if (lastSequence != copy.sequence()) {
            return lastSequence < copy.sequence() ? new InStep() : new Behind(lastSequence - copy.sequence());
        }
        return setSize == copy.setSize() && setDigest == copy.setDigest() ? new InStep()
                : new SyncState.Drift(lastSequence, setSize, setDigest, copy.setSize(), copy.setDigest());
    }

    private ApplyOutcome applyInOrder(KvEventBatch batch) {
        if (batch.setSize() > keys.blockCount()) {
            reset();
            return new TooManyKeys(keys.blockCount(), batch.setSize());
        }
        WorkerKeys.Totals totals = keys.apply(batch);
        if (totals.size() > keys.blockCount()) {
            position = Position.NONE;
            return new TooManyKeys(keys.blockCount(), totals.size());
        }
        if (totals.size() != batch.setSize() || totals.digest() != batch.setDigest()) {
            position = Position.NONE;
            return new Drift(batch.sequence(), batch.setSize(), totals.size());
        }
        position = new Position(batch.sequence(), totals.size(), totals.digest());
        return new Applied(batch.sequence());
    }

    private void reset() {
        keys.clear();
        position = Position.NONE;
    }
}
