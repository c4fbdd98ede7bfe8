package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.Medium;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What happened to keys, numbered: one entry for every physical copy that was stored or removed; and, drawn from it at
 * each drain, what changed in the <b>set</b> of announced keys (D8). A key joins the set with its first copy and leaves
 * it with the last.
 *
 * <p>A drain tells the net effect: a key that came and went since the last one is not mentioned, so the keys of a
 * failed step are never published. Net removals stand before net stores. Since the set is closed under "parent of" at
 * every moment (see {@link KvCacheManager}), so is what is left after the removals, the intersection of two such sets;
 * and a key's last store comes after that of its parent, its last removal before: in the order of the log a parent is
 * stored before its children and removed after them.
 *
 * <p>Holds what one step changes; whoever owns the cache drains it after every step.
 */
final class KvEventLog {

    enum Kind { STORED, REMOVED, CLEARED }

    /**
     * One event of one physical block.
     *
     * @param number 0, 1, 2 … since the cache was made
     * @param block  the block; 0 (the null block) where all were cleared
     * @param key    its key; 0 where all were cleared
     */
    record Entry(long number, Kind kind, int block, long key) {}

    private Kind[] kinds = new Kind[256];
    private int[] blocks = new int[256];
    private long[] keys = new long[256];
    /** True where the entry is, as things stand, a net change of the set. */
    private boolean[] announces = new boolean[256];
    private int size;
    private long drainedEntries;

    /** Key to index of the entry that announces it. */
    private final KeyTable pending = new KeyTable(256);
    private boolean cleared;
    private final KeySetDigest announced = new KeySetDigest();

    /** @param firstCopy true if no other block carries the key */
    void stored(int block, long key, boolean firstCopy) {
        add(Kind.STORED, block, key, firstCopy);
    }

    /** @param lastCopy true if no other block carries the key any more */
    void removed(int block, long key, boolean lastCopy) {
        add(Kind.REMOVED, block, key, lastCopy);
    }

    void cleared() {
        Arrays.fill(announces, 0, size, false);
        pending.clear();
        cleared = true;
        append(Kind.CLEARED, BlockPool.NULL_BLOCK, 0);
    }

    /** The net changes of the announced set since the last drain, and begins anew; empty if there is none. */
    List<BlockChange> drain() {
        if (size == 0) {
            return List.of();
        }
        var changes = new ArrayList<BlockChange>(3);
        if (cleared) {
            announced.clear();
            changes.add(new BlockChange.Cleared());
        }
        long[] removed = announcedKeys(Kind.REMOVED);
        if (removed.length > 0) {
            for (long key : removed) {
                announced.remove(key);
            }
            changes.add(new BlockChange.Removed(Medium.DEVICE, removed));
        }
        long[] stored = announcedKeys(Kind.STORED);
        if (stored.length > 0) {
            for (long key : stored) {
                announced.add(key);
            }
            changes.add(new BlockChange.Stored(Medium.DEVICE, stored));
        }
        drainedEntries += size;
        size = 0;
        cleared = false;
        pending.clear();
        return changes;
    }

    /** True if nothing happened since the last drain. */
    boolean isDrained() {
        return size == 0;
    }

    /** Count and digest of the announced set as of the last drain. */
    KeySetDigest announced() {
        return announced;
    }

    /** The entries since the last drain, for tests and traces. */
    List<Entry> entries() {
        var entries = new ArrayList<Entry>(size);
        for (int i = 0; i < size; i++) {
            entries.add(new Entry(drainedEntries + i, kinds[i], blocks[i], keys[i]));
        }
        return entries;
    }

    private void add(Kind kind, int block, long key, boolean changesSet) {
        int entry = append(kind, block, key);
        if (!changesSet) {
            return;
        }
        int opposite = pending.remove(key);
        if (opposite == KeyTable.ABSENT) {
            announces[entry] = true;
            pending.put(key, entry);
        } else {
            announces[opposite] = false;
        }
    }

    private int append(Kind kind, int block, long key) {
        if (size == kinds.length) {
            grow(size * 2);
        }
        kinds[size] = kind;
        blocks[size] = block;
        keys[size] = key;
        announces[size] = false;
        return size++;
    }

    private void grow(int capacity) {
        kinds = Arrays.copyOf(kinds, capacity);
        blocks = Arrays.copyOf(blocks, capacity);
        keys = Arrays.copyOf(keys, capacity);
        announces = Arrays.copyOf(announces, capacity);
    }

    private long[] announcedKeys(Kind kind) {
        long[] found = new long[size];
        int count = 0;
        for (int i = 0; i < size; i++) {
            if (announces[i] && kinds[i] == kind) {
                found[count++] = keys[i];
            }
        }
        return Arrays.copyOf(found, count);
    }
}
