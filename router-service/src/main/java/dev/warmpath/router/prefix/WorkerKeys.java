package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KvEventBatch;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The router's copy of what one worker announces. One writer, its {@link KvEventApplier}; any number of readers. A
 * snapshot, and a batch in which the worker drops everything, are seen whole or not at all; any other batch key by key,
 * in its order: a prefix-closed worker is one at any moment.
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
     * gone; in the second case the first key too many was the last one that was added.
     */
    Totals apply(KvEventBatch batch) {
        Copy before = visible;
        int lastClear = lastClear(batch.changes());
        boolean anew = batch.snapshot() || before == null || lastClear >= 0 && before.size() > 0;
        Copy copy = anew ? index.newCopy() : before;
        boolean sound = false;
        try {
            // what was before a clearing leaves no trace: however many there are, they cost one copy
            change(copy, anew, batch.changes(), lastClear + 1);
            var totals = new Totals(copy.size(), copy.digest());
            sound = totals.equals(new Totals(batch.setSize(), batch.setDigest()));
            return totals;
        } finally {
            if (!sound) {
                index.copies().giveUp(this, copy);
            } else if (anew) {
                index.copies().show(this, copy);
            }
        }
    }

    private static int lastClear(List<BlockChange> changes) {
        int last = changes.size() - 1;
        while (last >= 0 && !(changes.get(last) instanceof BlockChange.Cleared)) {
            last--;
        }
        return last;
    }

    /** Ends with the first change that leaves too many keys. @param unseen whether their order matters to nobody */
    private void change(Copy copy, boolean unseen, List<BlockChange> changes, int from) {
        for (int i = from; i < changes.size(); i++) {
            switch (changes.get(i)) {
                case BlockChange.Stored(var _, var keys) when unseen -> index.load(copy, keys, blockCount);
                case BlockChange.Stored(var _, var keys) -> index.add(copy, keys, blockCount);
                case BlockChange.Removed(var _, var keys) -> index.remove(copy, keys);
                case BlockChange.Cleared() -> throw new IllegalArgumentException("to be left out with all before it");
            }
            if (copy.size() > blockCount) {
                return;
            }
        }
    }

    void clear() {
        index.copies().show(this, null);
    }

    // ---- for Copies, under its lock

    @Nullable Copy visible() {
        return visible;
    }

    void setVisible(@Nullable Copy copy) {
        visible = copy;
    }
}
