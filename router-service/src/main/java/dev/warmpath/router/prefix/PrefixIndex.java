package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The keys that every worker announces, and the question they are kept for: how many leading blocks of a prompt does
 * each worker hold? Safe for use by several threads; nobody who asks ever waits for a lock.
 *
 * <pre>
 *   WorkerKeys --> Copy (ordinal)               one for each worker, another one after each reload
 *                        |
 *   key --mix--> KeyTable: 1,024 Shards         mixed key -> holder: one ordinal, or the id of
 *                        |
 *                  HolderSets                   a set of ordinals, kept once for all keys that share it
 * </pre>
 * A key is in the table once, however many workers hold it: a match of all workers costs as many look-ups as there are
 * different depths, not as there are workers ({@link PrefixSearch}).
 *
 * <p>A snapshot is loaded under a new ordinal that nobody sees yet. Then {@link VisibleWorkers} is replaced as a whole,
 * which shows the new copy and hides the old one; {@link #sweep} later takes the old ordinal from every key, and only
 * then it may be given away again. A removed worker goes the same way.
 *
 * <p>One thread at a time writes, under a lock that is given back every {@value #KEYS_PER_LOCK} keys.
 */
public final class PrefixIndex {

    /** Enough misses to overlap, and a few microseconds for whoever waits to write. */
    private static final int KEYS_PER_LOCK = 128;

    private final KeyTable table = new KeyTable();
    private volatile VisibleWorkers visible = new VisibleWorkers(new @Nullable WorkerKeys[0]);

    /** Held by whoever writes; guards all below. */
    private final ReentrantLock writing = new ReentrantLock();
    private final Set<WorkerKeys> workers = new LinkedHashSet<>();
    private final BitSet usedOrdinals = new BitSet();
    private final BitSet retiredOrdinals = new BitSet();
    private final long[] mixedKeys = new long[KEYS_PER_LOCK];

    /**
     * What is in the index.
     *
     * @param workers    in matches
     * @param entries    pairs of a worker and a key
     * @param keys       distinct ones, of copies not swept yet too
     * @param holderSets sets of workers that share a key
     * @param retired    copies that are in no match any more and still take memory
     * @param bytes      of the tables
     */
    public record Stats(int workers, long entries, long keys, int holderSets, int retired, long bytes) {}

    // ---- questions

    /**
     * How many leading blocks each worker holds.
     *
     * @param chain     read during the call only
     * @param maxBlocks where to stop counting, usually {@code HashSettings.reusableBlocks}
     */
    public PrefixMatch match(BlockHashChain chain, int maxBlocks) {
        int limit = Math.min(maxBlocks, chain.blockCount());
        while (true) {
            VisibleWorkers now = visible;
            var search = new PrefixSearch(table, chain, now.words());
            if (limit > 0) {
                search.searchClosed(now.closed(), limit);
                search.walk(now.walked(), limit);
            }
            if (now == visible) {                                  // else an ordinal may have been given away meanwhile
                return new PrefixMatch(now, search.blocks());
            }
        }
    }

    /** Whether this worker announces the key. */
    public boolean holds(WorkerKeys worker, long key) {
        VisibleWorkers now = visible;
        int ordinal = now.ordinalOf(worker);
        return ordinal >= 0 && (ordinals(now, key)[ordinal / Long.SIZE] >>> ordinal & 1) != 0;
    }

    /** Every worker that announces the key. */
    public List<WorkerKeys> holders(long key) {
        VisibleWorkers now = visible;
        return now.among(ordinals(now, key));
    }

    private long[] ordinals(VisibleWorkers now, long key) {
        long[] found = new long[now.words()];
        table.holders(new long[] {KeySetDigest.mix(key)}, 1, found, now.words());
        return found;
    }

    public Stats stats() {
        writing.lock();
        try {
            int shown = 0;
            long entries = 0;
            for (WorkerKeys worker : workers) {
                shown += worker.visible() == null ? 0 : 1;
                entries += worker.size();
            }
            return new Stats(shown, entries, table.size(), table.holderSets(), retiredOrdinals.cardinality(),
                    table.bytes());
        } finally {
            writing.unlock();
        }
    }

    // ---- who is in it

    /**
     * A place for the keys of one more worker; it is in no match before its first snapshot is.
     *
     * @param blockCount   the worker's pool, in blocks: it cannot hold more keys
     * @param prefixClosed whether the worker announces a key only while all its ancestors are held
     */
    public WorkerKeys add(int blockCount, boolean prefixClosed) {
        var worker = new WorkerKeys(this, blockCount, prefixClosed);
        writing.lock();
        try {
            workers.add(worker);
        } finally {
            writing.unlock();
        }
        return worker;
    }

    /** The worker is in no match that begins from now on, whatever is applied to it. */
    public void remove(WorkerKeys worker) {
        writing.lock();
        try {
            show(worker, null);
            workers.remove(worker);
        } finally {
            writing.unlock();
        }
    }

    /** What matches see of a worker from now on; null: nothing. What they saw before is retired. */
    void show(WorkerKeys worker, @Nullable Copy copy) {
        writing.lock();
        try {
            Copy before = worker.visible();
            if (before != null) {
                retire(before);
            }
            if (copy != null && !workers.contains(worker)) {
                retire(copy);
            } else if (copy != before) {
                worker.setVisible(copy);
                publish();
            }
        } finally {
            writing.unlock();
        }
    }

    private void publish() {
        var byOrdinal = new @Nullable WorkerKeys[usedOrdinals.length()];
        for (WorkerKeys worker : workers) {
            Copy copy = worker.visible();
            if (copy != null) {
                byOrdinal[copy.ordinal()] = worker;
            }
        }
        visible = new VisibleWorkers(byOrdinal);
    }

    // ---- what they hold

    /** An empty copy that no match sees. */
    Copy newCopy() {
        writing.lock();
        try {
            int ordinal = usedOrdinals.nextClearBit(0);
            usedOrdinals.set(ordinal);
            return new Copy(ordinal);
        } finally {
            writing.unlock();
        }
    }

    /** Gives a copy up to the sweep. */
    void retire(Copy copy) {
        writing.lock();
        try {
            copy.retire();
            retiredOrdinals.set(copy.ordinal());
        } finally {
            writing.unlock();
        }
    }

    /** Adds keys in their order; stops once the copy has more than {@code limit}. */
    void add(Copy copy, long[] keys, int limit) {
        for (int from = 0; from < keys.length && copy.size() <= limit; from += KEYS_PER_LOCK) {
            change(copy, keys, from, 1, limit);
        }
    }

    /** Removes keys in their order. */
    void remove(Copy copy, long[] keys) {
        for (int from = 0; from < keys.length; from += KEYS_PER_LOCK) {
            change(copy, keys, from, -1, Integer.MAX_VALUE);
        }
    }

    /** @param step 1 to add, -1 to remove */
    private void change(Copy copy, long[] keys, int from, int step, int limit) {
        int count = Math.min(KEYS_PER_LOCK, keys.length - from);
        writing.lock();
        try {
            if (copy.isRetired()) {                                // the sweep may have been here
                return;
            }
            for (int i = 0; i < count; i++) {
                mixedKeys[i] = KeySetDigest.mix(keys[from + i]);
            }
            table.touch(mixedKeys, count);
            int size = copy.size();
            long digest = copy.digest();
            for (int i = 0; i < count && size <= limit; i++) {
                long key = mixedKeys[i];
                if (step > 0 ? table.add(key, copy.ordinal()) : table.remove(key, copy.ordinal())) {
                    size += step;
                    digest += step * key;                          // as KeySetDigest has it: the sum of mixed keys
                }
            }
            copy.set(size, digest);
        } finally {
            writing.unlock();
        }
    }

    // ---- what is left of those that have gone

    /**
     * Gives the memory of removed and reloaded workers back: one pass over the whole table, some 200 ms for ten million
     * keys, in which others may write. Two at a time would give an ordinal away twice, hence one thread.
     *
     * @return false if there was nothing to do
     */
    public synchronized boolean sweep() {
        BitSet dead = retiredOrdinals();
        if (dead.isEmpty()) {
            return false;
        }
        long[] ordinals = dead.toLongArray();
        for (int shard = 0; shard < KeyTable.SHARDS; shard++) {
            writing.lock();
            try {
                table.sweep(shard, ordinals);
            } finally {
                writing.unlock();
            }
        }
        forget(dead);
        return true;
    }

    private BitSet retiredOrdinals() {
        writing.lock();
        try {
            return (BitSet) retiredOrdinals.clone();
        } finally {
            writing.unlock();
        }
    }

    private void forget(BitSet swept) {
        writing.lock();
        try {
            retiredOrdinals.andNot(swept);
            usedOrdinals.andNot(swept);
        } finally {
            writing.unlock();
        }
    }
}
