package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import java.util.List;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock.ReadLock;
import java.util.concurrent.locks.ReentrantReadWriteLock.WriteLock;

/**
 * The router's copy of what one worker announces. One writer, its {@link KvEventApplier}; any number of readers, who
 * see the state between two batches and never inside one.
 */
public final class WorkerKeys {

    private final int blockCount;
    private final boolean prefixClosed;
    private final KeySet keys = new KeySet();
    private boolean removed;
    private final ReadLock read;
    private final WriteLock write;

    WorkerKeys(int blockCount, boolean prefixClosed) {
        this.blockCount = blockCount;
        this.prefixClosed = prefixClosed;
        var lock = new ReentrantReadWriteLock();
        this.read = lock.readLock();
        this.write = lock.writeLock();
    }

    /** What the set looks like after a batch. */
    record Totals(int size, long digest) {}

    /** @param fromEmpty true for a snapshot: what was there before goes */
    Totals apply(List<BlockChange> changes, boolean fromEmpty) {
        write.lock();
        try {
            if (fromEmpty) {
                keys.clear();
            }
            if (!removed) {
                changes.forEach(keys::apply);
            }
            return new Totals(keys.size(), keys.digest());
        } finally {
            write.unlock();
        }
    }

    void clear() {
        apply(List.of(), true);
    }

    /** Empties the set for ever. */
    void remove() {
        write.lock();
        try {
            removed = true;
            keys.clear();
        } finally {
            write.unlock();
        }
    }

    /** Most keys that the worker can hold. */
    public int blockCount() {
        return blockCount;
    }

    /** Number of keys that the worker announces; 0 once it is removed. */
    public int size() {
        read.lock();
        try {
            return keys.size();
        } finally {
            read.unlock();
        }
    }

    /** {@link dev.warmpath.protocol.event.KeySetDigest} of them. */
    public long digest() {
        read.lock();
        try {
            return keys.digest();
        } finally {
            read.unlock();
        }
    }

    boolean contains(long key) {
        read.lock();
        try {
            return keys.contains(key);
        } finally {
            read.unlock();
        }
    }

    /** Leading blocks of the chain, {@code limit} at most. */
    int match(BlockHashChain chain, int limit) {
        read.lock();
        try {
            return prefixClosed ? halve(chain, limit) : walk(chain, limit);
        } finally {
            read.unlock();
        }
    }

    private int walk(BlockHashChain chain, int limit) {
        int held = 0;
        while (held < limit && keys.contains(chain.key(held))) {
            held++;
        }
        return held;
    }

    /** All blocks below {@code held} are there, none from {@code missing} on is. A cold worker costs one look-up. */
    private int halve(BlockHashChain chain, int limit) {
        if (limit == 0 || !keys.contains(chain.key(0))) {
            return 0;
        }
        int held = 1;
        int missing = limit + 1;
        while (missing - held > 1) {
            int middle = (held + missing) >>> 1;
            if (keys.contains(chain.key(middle - 1))) {
                held = middle;
            } else {
                missing = middle;
            }
        }
        return held;
    }
}
