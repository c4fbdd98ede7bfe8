package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.Medium;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What happened to keys, numbered: one entry for every physical copy that was stored or removed; and, drawn from it at
 * each drain, what changed in the <b>set</b> of announced keys (D8), those of one group. A key joins the set with its
 * first copy and leaves it with the last.
 *
 * <p>A drain tells the net effect of the entries up to some number: a key that came and went among them is not
 * mentioned, so the keys of a failed step are never published. Later entries, those of steps still in flight, wait. Net
 * removals stand before net stores. Since the set is closed under "parent of" at every moment (see
 * {@link KvCacheManager}), so is what is left after the removals, the intersection of two such sets; and a key's last
 * store comes after that of its parent, its last removal before: in the order of the log a parent is stored before its
 * children and removed after them.
 *
 * <p>An entry takes 15 bytes. The log holds what the steps since the last drain changed, at most three entries for each
 * block that they used: evicted, stored and, if the step failed, withdrawn. Whoever owns the cache drains it after every
 * step.
 */
final class KvEventLog {

    /** A cache without such a group announces nothing. */
    static final int NO_GROUP = -1;

    enum Kind { STORED, REMOVED, CLEARED }

    /**
     * One event of one physical block.
     *
     * @param number 0, 1, 2 … since the cache was made
     * @param block  the block; 0 (the null block) where all were cleared
     * @param key    its key, the same in every group; 0 where all were cleared
     * @param group  the group that the block serves; 0 where all were cleared
     */
    record Entry(long number, Kind kind, int block, long key, int group) {}

    private static final byte STORED = (byte) Kind.STORED.ordinal();
    private static final byte REMOVED = (byte) Kind.REMOVED.ordinal();
    private static final byte CLEARED = (byte) Kind.CLEARED.ordinal();
    private static final Kind[] KINDS = Kind.values();
    private static final int MIN_CAPACITY = 256;

    private final int announcedGroup;
    private byte[] kinds = new byte[MIN_CAPACITY];
    private byte[] groups = new byte[MIN_CAPACITY];
    private int[] blocks = new int[MIN_CAPACITY];
    private long[] keys = new long[MIN_CAPACITY];
    /** True where the entry changed the announced set when it happened; within a drain, where it is a net change. */
    private boolean[] announces = new boolean[MIN_CAPACITY];
    private int size;
    private long drainedEntries;

    /** For the drain only: entry + 1 by key, open addressing; 0 is free. */
    private int[] latestByKey = new int[MIN_CAPACITY * 2];
    private final KeySetDigest announced = new KeySetDigest();

    /** @param announcedGroup the group whose keys are announced, or {@link #NO_GROUP} */
    KvEventLog(int announcedGroup) {
        this.announcedGroup = announcedGroup;
    }

    /** @param firstCopy true if no other block of the group carries the key */
    void stored(int block, long key, int group, boolean firstCopy) {
        append(STORED, block, key, group, firstCopy && group == announcedGroup);
    }

    /** @param lastCopy true if no other block of the group carries the key any more */
    void removed(int block, long key, int group, boolean lastCopy) {
        append(REMOVED, block, key, group, lastCopy && group == announcedGroup);
    }

    void cleared() {
        append(CLEARED, BlockPool.NULL_BLOCK, 0, 0, announcedGroup != NO_GROUP);
    }

    /** Entries since the cache was made; the next one's number. */
    long eventCount() {
        return drainedEntries + size;
    }

    /** {@link #drain(long)} of all entries. */
    List<BlockChange> drain() {
        return drain(eventCount());
    }

    /**
     * The net changes of the announced set by the entries that were not drained yet and are numbered below the given
     * number, which are drained with that; empty if there are none.
     *
     * @throws IllegalArgumentException if so many entries were never made
     */
    List<BlockChange> drain(long upToEvent) {
        if (upToEvent > eventCount()) {
            throw new IllegalArgumentException(
                    "events up to " + upToEvent + " cannot be drained, there were " + eventCount());
        }
        if (upToEvent <= drainedEntries) {
            return List.of();
        }
        int end = (int) (upToEvent - drainedEntries);
        List<BlockChange> changes = netChanges(end);
        discard(end);
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

    /** The entries not yet drained, for tests and traces. */
    List<Entry> entries() {
        var entries = new ArrayList<Entry>(size);
        for (int i = 0; i < size; i++) {
            entries.add(new Entry(drainedEntries + i, KINDS[kinds[i]], blocks[i], keys[i], groups[i]));
        }
        return entries;
    }

    private void append(byte kind, int block, long key, int group, boolean changesSet) {
        if (size == kinds.length) {
            resize(size * 2);
        }
        kinds[size] = kind;
        groups[size] = (byte) group;
        blocks[size] = block;
        keys[size] = key;
        announces[size] = changesSet;
        size++;
    }

    private List<BlockChange> netChanges(int end) {
        int cleared = lastClear(end);
        int begin = cleared + 1;
        int removedCount = count(REMOVED, begin, end);
        int storedCount = count(STORED, begin, end);
        if (removedCount > 0 && storedCount > 0) {
            // a key's changes are stores and removals in turn: of one kind alone, nothing can cancel out
            cancelOpposites(begin, end, removedCount + storedCount);
            removedCount = count(REMOVED, begin, end);
            storedCount = count(STORED, begin, end);
        }
        if (cleared < 0 && removedCount == 0 && storedCount == 0) {
            return List.of();
        }
        var changes = new ArrayList<BlockChange>(3);
        if (cleared >= 0) {
            announced.clear();
            changes.add(new BlockChange.Cleared());
        }
        if (removedCount > 0) {
            long[] removed = keysOf(REMOVED, begin, end, removedCount);
            for (long key : removed) {
                announced.remove(key);
            }
            changes.add(new BlockChange.Removed(Medium.DEVICE, removed));
        }
        if (storedCount > 0) {
            long[] stored = keysOf(STORED, begin, end, storedCount);
            for (long key : stored) {
                announced.add(key);
            }
            changes.add(new BlockChange.Stored(Medium.DEVICE, stored));
        }
        return changes;
    }

    private int lastClear(int end) {
        for (int i = end - 1; i >= 0; i--) {
            if (kinds[i] == CLEARED && announces[i]) {
                return i;
            }
        }
        return -1;
    }

    private int count(byte kind, int begin, int end) {
        int count = 0;
        for (int i = begin; i < end; i++) {
            count += announces[i] && kinds[i] == kind ? 1 : 0;
        }
        return count;
    }

    /** Of each key's changes none is left if they are even in number, otherwise the latest. */
    private void cancelOpposites(int begin, int end, int changeCount) {
        int slotCount = Integer.highestOneBit(changeCount) * 4;
        if (latestByKey.length < slotCount) {
            latestByKey = new int[slotCount];
        } else {
            Arrays.fill(latestByKey, 0, slotCount, 0);
        }
        int mask = slotCount - 1;
        for (int i = begin; i < end; i++) {
            if (!announces[i]) {
                continue;
            }
            int slot = (int) keys[i] & mask;
            while (latestByKey[slot] != 0 && keys[latestByKey[slot] - 1] != keys[i]) {
                slot = (slot + 1) & mask;
            }
            int earlier = latestByKey[slot] - 1;
            latestByKey[slot] = i + 1;
            if (earlier >= 0 && announces[earlier]) {
                announces[earlier] = announces[i] = false;
            }
        }
    }

    private long[] keysOf(byte kind, int begin, int end, int count) {
        long[] found = new long[count];
        int next = 0;
        for (int i = begin; i < end; i++) {
            if (announces[i] && kinds[i] == kind) {
                found[next++] = keys[i];
            }
        }
        return found;
    }

    private void discard(int end) {
        size -= end;
        drainedEntries += end;
        System.arraycopy(kinds, end, kinds, 0, size);
        System.arraycopy(groups, end, groups, 0, size);
        System.arraycopy(blocks, end, blocks, 0, size);
        System.arraycopy(keys, end, keys, 0, size);
        System.arraycopy(announces, end, announces, 0, size);
    }

    private void resize(int capacity) {
        kinds = Arrays.copyOf(kinds, capacity);
        groups = Arrays.copyOf(groups, capacity);
        blocks = Arrays.copyOf(blocks, capacity);
        keys = Arrays.copyOf(keys, capacity);
        announces = Arrays.copyOf(announces, capacity);
    }
}
