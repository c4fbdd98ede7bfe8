package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The keys that every worker announces, and the question they are kept for: how many leading blocks of a prompt does
 * each worker hold? Safe for use by several threads; nobody who asks ever waits for a lock.
 *
 * <pre>
 *   WorkerKeys --> Copy (ordinal)               one for each worker, another one after each reload
 *                        |
 *   key --mix--> KeyTable: 512 Shards           mixed key -> holder: one ordinal, or the id of
 *                        |
 *                  HolderSets                   a set of ordinals, kept once for all keys that share it
 * </pre>
 * Beside the shards, {@link Occupancy} knows of most keys that nobody holds them, and {@link Guesses} where a popular
 * prefix is likely to end.
 *
 * <p>A key is in the table once, however many workers hold it: a match of all workers costs as many look-ups as there
 * are different depths, not as there are workers ({@link PrefixSearch}).
 *
 * <p>A snapshot is loaded under a new ordinal that nobody sees yet. Then {@link VisibleWorkers} is replaced as a whole,
 * which shows the new copy and hides the old one; {@link #sweep} later takes the old ordinal from every key, and only
 * then it may be given away again. A removed worker goes the same way. {@link Copies} keeps account of that.
 *
 * <p>One thread at a time writes keys, under a lock that is given back every {@value #KEYS_PER_LOCK} of them.
 */
public final class PrefixIndex {

    /** Enough misses to overlap, and a few microseconds for whoever waits to write. */
    private static final int KEYS_PER_LOCK = 128;

    /** Several for each shard. */
    private static final int WORTH_SORTING = 8 * KeyTable.SHARDS;

    /**
     * Retired copies that may wait for the sweep: whoever reloads or clears faster than it comes round sweeps himself.
     * They make the sets of ordinals longer, and with them every match.
     */
    private static final int MOST_RETIRED = 256;

    private final KeyTable table = new KeyTable();
    private final Guesses guesses = new Guesses();
    private final Copies copies = new Copies();

    /**
     * Held by whoever changes the table, and by nobody else. Fair: else a loader, which takes it again at once, would
     * keep everybody out for as long as it likes.
     */
    final ReentrantLock writing = new ReentrantLock(/* fair */ true);

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
            VisibleWorkers now = copies.visible();
            var search = new PrefixSearch(table, guesses, chain, limit);
            HolderSteps closed = search.searchClosed(now.closed());
            HolderSteps walked = search.walk(now.walked());
            if (now == copies.visible()) {                         // else an ordinal may have been given away meanwhile
                return closed == HolderSteps.NONE && walked == HolderSteps.NONE ? PrefixMatch.NOTHING
                        : new PrefixMatch(now, closed, walked);
            }
        }
    }

    /** Whether this worker announces the key. Allocates nothing. */
    public boolean holds(WorkerKeys worker, long key) {
        long mixedKey = KeySetDigest.mix(key);
        while (true) {
            VisibleWorkers now = copies.visible();
            int ordinal = now.ordinalOf(worker);
            boolean held = ordinal >= 0 && HolderSets.isIn(table.holders(mixedKey), ordinal);
            if (now == copies.visible()) {
                return held;
            }
        }
    }

    /** Every worker that announces the key. */
    public List<WorkerKeys> holders(long key) {
        long mixedKey = KeySetDigest.mix(key);
        while (true) {
            VisibleWorkers now = copies.visible();
            long[] ordinals = table.holders(mixedKey);
            if (now == copies.visible()) {
                return now.among(ordinals);
            }
        }
    }

    /** As of about now: counted while others write, without keeping them from it. */
    public Stats stats() {
        int shown = 0;
        long entries = 0;
        for (WorkerKeys worker : copies.visible().workers()) {
            shown++;
            entries += worker.size();
        }
        return new Stats(shown, entries, table.size(), table.holderSets(), copies.retiredCount(), table.bytes());
    }

    // ---- who is in it

    /**
     * A place for the keys of one more worker; it is in no match before its first snapshot is. Waits for nobody who
     * writes keys.
     *
     * @param blockCount   the worker's pool, in blocks: it cannot hold more keys
     * @param prefixClosed whether the worker announces a key only while all its ancestors are held
     */
    public WorkerKeys add(int blockCount, boolean prefixClosed) {
        var worker = new WorkerKeys(this, blockCount, prefixClosed);
        copies.add(worker);
        return worker;
    }

    /**
     * The worker is in no match that begins from now on, whatever is applied to it. Waits for nobody who writes keys.
     */
    public void remove(WorkerKeys worker) {
        copies.remove(worker);
    }

    Copies copies() {
        return copies;
    }

    // ---- what they hold

    /** An empty copy that no match sees. Waits for a sweep while too many of them are due for one. */
    Copy newCopy() {
        if (copies.retiredCount() >= MOST_RETIRED) {
            sweep();
        }
        return copies.newCopy();
    }

    /** Adds keys to a copy that no match sees, in any order; stops once the copy has more than {@code limit}. */
    void load(Copy copy, long[] keys, int limit) {
        addMixed(copy, keys.length < WORTH_SORTING ? mixed(keys) : KeyTable.byShard(mixed(keys)), limit);
    }

    private static long[] mixed(long[] keys) {
        long[] mixed = new long[keys.length];
        for (int i = 0; i < keys.length; i++) {
            mixed[i] = KeySetDigest.mix(keys[i]);
        }
        return mixed;
    }

    /** Adds keys in their order; stops once the copy has more than {@code limit}. */
    void add(Copy copy, long[] keys, int limit) {
        addMixed(copy, mixed(keys), limit);
    }

    private void addMixed(Copy copy, long[] mixed, int limit) {
        for (int from = 0; from < mixed.length && copy.size() <= limit; from += KEYS_PER_LOCK) {
            writing.lock();
            try {
                addSome(copy, mixed, from, Math.min(mixed.length, from + KEYS_PER_LOCK), limit);
            } finally {
                writing.unlock();
            }
        }
    }

    /** Removes keys in their order. */
    void remove(Copy copy, long[] keys) {
        long[] mixed = mixed(keys);
        for (int from = 0; from < mixed.length; from += KEYS_PER_LOCK) {
            writing.lock();
            try {
                removeSome(copy, mixed, from, Math.min(mixed.length, from + KEYS_PER_LOCK));
            } finally {
                writing.unlock();
            }
        }
    }

    /** Nothing to a copy that may be swept already. */
    private void addSome(Copy copy, long[] mixed, int from, int to, int limit) {
        if (copy.isRetired()) {
            return;
        }
        table.touch(mixed, from, to);
        int size = copy.size();
        long digest = copy.digest();
        for (int i = from; i < to && size <= limit; i++) {
            if (table.add(mixed[i], copy.ordinal())) {
                size++;
                digest += mixed[i];                                // as KeySetDigest has it: the sum of mixed keys
            }
        }
        copy.set(size, digest);
    }

    private void removeSome(Copy copy, long[] mixed, int from, int to) {
        if (copy.isRetired()) {
            return;
        }
        table.touch(mixed, from, to);
        int size = copy.size();
        long digest = copy.digest();
        for (int i = from; i < to; i++) {
            if (table.remove(mixed[i], copy.ordinal())) {
                size--;
                digest -= mixed[i];
            }
        }
        copy.set(size, digest);
    }

    // ---- what is left of those that have gone

    /**
     * Gives the memory of removed and reloaded workers back: one pass over the whole table, some 200 ms for ten million
     * keys, in which others may write. Two at a time would give an ordinal away twice, hence one thread.
     *
     * @return false if there was nothing to do
     */
    public synchronized boolean sweep() {
        BitSet dead = copies.retired();
        if (dead.isEmpty()) {
            return false;
        }
        long[] ordinals = dead.toLongArray();
        for (int shard = 0; shard < KeyTable.SHARDS; shard++) {
            writing.lock();                                        // whoever saw a copy not retired yet has let go
            try {
                table.sweep(shard, ordinals);
            } finally {
                writing.unlock();
            }
        }
        copies.forget(dead);
        return true;
    }

    /**
     * Counts everything anew, for tests; while no batch is applied.
     *
     * @throws IllegalStateException if tables and accounts disagree
     */
    void checkIntegrity() {
        writing.lock();
        try {
            var totals = new WorkerKeys.Totals[copies.ordinalLimit()];
            table.checkIntegrity(totals);
            copies.checkIntegrity(totals);
        } finally {
            writing.unlock();
        }
    }
}
