package dev.warmpath.worker.kvcache;

import java.util.Arrays;

/**
 * Finds blocks by a 32-bit tag of their key: open addressing, linear probing, at most half full, one word a slot. The
 * table does not know the keys themselves, which would double it; whoever asks compares them at the block.
 *
 * <pre>
 *   slot   63      32 31       0
 *         |   tag    |  block   |      0: free, as block 0 is the null block
 * </pre>
 *
 * <p>A tag's probe begins at tag / 2^32 of the slots (Lemire's multiply-shift), so that their number need not be a
 * power of two: two slots a block are enough for any pool. A slot says by itself where its probe began: a gap is closed
 * without looking at a block, and no tombstone is needed. Tags are parts of SHA-256 hashes and spread as they are.
 */
final class KeyTable {

    /** No slot. */
    static final int NONE = -1;

    private static final long FREE = 0;

    private final long[] slots;
    private int size;

    /** @param capacity entries that fit, at most 2^30 - 1 */
    KeyTable(int capacity) {
        slots = new long[capacity * 2];
    }

    /** Entries. */
    int size() {
        return size;
    }

    /** The first slot with a tag, or {@link #NONE}. */
    int find(int tag) {
        return slots.length == 0 ? NONE : findFrom(home(tag), tag);
    }

    /** The next slot with the same tag, or {@link #NONE}. */
    int findNext(int slot, int tag) {
        return findFrom(next(slot), tag);
    }

    /** The slot of this very entry, or {@link #NONE}. */
    int find(int tag, int block) {
        long wanted = entry(tag, block);
        int slot = home(tag);
        while (slots[slot] != wanted) {
            if (slots[slot] == FREE) {
                return NONE;
            }
            slot = next(slot);
        }
        return slot;
    }

    /** The block in a slot, or {@link BlockPool#NULL_BLOCK} in a free one. */
    int block(int slot) {
        return (int) slots[slot];
    }

    /** Puts another block of the same tag into a slot. */
    void replace(int slot, int block) {
        slots[slot] = entry(tag(slots[slot]), block);
    }

    /**
     * @param block 1 or more
     * @throws IllegalStateException if the table is full
     */
    void add(int tag, int block) {
        if (size * 2 == slots.length) {
            throw new IllegalStateException("the key table is full with " + size + " entries");
        }
        int slot = home(tag);
        while (slots[slot] != FREE) {
            slot = next(slot);
        }
        slots[slot] = entry(tag, block);
        size++;
    }

    /** Empties a slot that is not free. Later entries may move. */
    void remove(int slot) {
        int hole = slot;
        // closes the gap: whatever probed past the hole moves into it
        for (int i = next(hole); slots[i] != FREE; i = next(i)) {
            if (distance(home(tag(slots[i])), i) >= distance(hole, i)) {
                slots[hole] = slots[i];
                hole = i;
            }
        }
        slots[hole] = FREE;
        size--;
    }

    void clear() {
        if (size > 0) {
            Arrays.fill(slots, FREE);
            size = 0;
        }
    }

    /** Number of slots, for walks over {@link #block}. */
    int slotCount() {
        return slots.length;
    }

    private int findFrom(int start, int tag) {
        int slot = start;
        for (long entry = slots[slot]; entry != FREE; entry = slots[slot]) {
            if (tag(entry) == tag) {
                return slot;
            }
            slot = next(slot);
        }
        return NONE;
    }

    private int home(int tag) {
        return (int) ((Integer.toUnsignedLong(tag) * slots.length) >>> Integer.SIZE);
    }

    private int next(int slot) {
        int next = slot + 1;
        return next == slots.length ? 0 : next;
    }

    /** Steps of a probe from one slot to another. */
    private int distance(int from, int to) {
        return to >= from ? to - from : to - from + slots.length;
    }

    private static long entry(int tag, int block) {
        return (long) tag << Integer.SIZE | block;
    }

    private static int tag(long entry) {
        return (int) (entry >>> Integer.SIZE);
    }
}
