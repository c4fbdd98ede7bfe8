package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KvEventBatch;
import org.jspecify.annotations.Nullable;

/**
 * The router's copy of what one worker announces. One writer, its {@link KvEventApplier}; any number of readers. A
 * snapshot is seen whole or not at all, any other batch key by key, in its order: a prefix-closed worker is one at any
 * moment.
 */
public final class WorkerKeys {

    private final PrefixIndex index;
    private final int blockCount;
    private final boolean prefixClosed;
    /** What matches see; null before the first snapshot, after a loss and once the worker is removed. */
    private volatile @Nullable Copy visible;

    WorkerKeys(PrefixIndex index, int blockCount, boolean prefixClosed) {
        this.index = index;
        this.blockCount = blockCount;
        this.prefixClosed = prefixClosed;
    }

    /** Most keys that the worker can hold. */
    public int blockCount() {
        return blockCount;
    }

    /** Number of keys that the worker announces; 0 once it is removed. */
    public int size() {
        Copy copy = visible;
        return copy == null ? 0 : copy.size();
    }

    /** {@link dev.warmpath.protocol.event.KeySetDigest} of them. */
    public long digest() {
        Copy copy = visible;
        return copy == null ? 0 : copy.digest();
    }

    boolean isPrefixClosed() {
        return prefixClosed;
    }

    /** What the set looks like after a batch. */
    record Totals(int size, long digest) {}

    /**
     * Takes a batch over. If the set then is not what the batch says, or larger than the worker's pool, the copy is
     * gone; in the second case the first key too many was the last one looked at.
     */
    Totals apply(KvEventBatch batch) {
        Copy before = visible;
        Copy copy = batch.snapshot() || before == null ? index.newCopy() : before;
        for (BlockChange change : batch.changes()) {
            switch (change) {
                case BlockChange.Stored(var _, var keys) -> index.add(copy, keys, blockCount);
                case BlockChange.Removed(var _, var keys) -> index.remove(copy, keys);
                case BlockChange.Cleared() -> {
                    if (copy != before) {
                        index.retire(copy);
                    }
                    copy = index.newCopy();
                }
            }
            if (copy.size() > blockCount) {
                break;
            }
        }
        var totals = new Totals(copy.size(), copy.digest());
        if (totals.size() != batch.setSize() || totals.digest() != batch.setDigest()) {
            index.retire(copy);
            clear();
        } else if (copy != before) {
            index.show(this, copy);
        }
        return totals;
    }

    void clear() {
        index.show(this, null);
    }

    // ---- for the index, under its lock

    @Nullable Copy visible() {
        return visible;
    }

    void setVisible(@Nullable Copy copy) {
        visible = copy;
    }
}
