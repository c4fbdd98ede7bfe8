package dev.warmpath.worker.kvcache;

import java.util.Arrays;

/**
 * A map from 64-bit block keys to small numbers from 0 on: open addressing, linear probing, at most half full. Keys are
 * the tails of SHA-256 hashes, so their low bits serve as the slot as they are.
 */
final class KeyTable {

    static final int ABSENT = -1;

    private long[] keys;
    /** {@link #ABSENT} marks a free slot. */
    private int[] values;
    private int mask;
    private int size;

    /** @param expectedSize up to here nothing is allocated again */
    KeyTable(int expectedSize) {
        allot(Integer.highestOneBit(Math.max(expectedSize, 4) * 2 - 1) * 2);
    }

    int size() {
        return size;
    }

    /** The value, or {@link #ABSENT}. */
    int get(long key) {
        return values[slotOf(key)];
    }

    /** Sets the value of a key, new or not. @param value 0 or more */
    void put(long key, int value) {
        int slot = slotOf(key);
        if (values[slot] == ABSENT) {
            if ((size + 1) * 2 > values.length) {
                grow();
                slot = slotOf(key);
            }
            size++;
        }
        keys[slot] = key;
        values[slot] = value;
    }

    /** Forgets the key. @return its value, or {@link #ABSENT} */
    int remove(long key) {
        int hole = slotOf(key);
        int removed = values[hole];
        if (removed == ABSENT) {
            return ABSENT;
        }
        // closes the gap: whatever probed past the hole moves into it, so that no tombstone is needed
        for (int slot = next(hole); values[slot] != ABSENT; slot = next(slot)) {
            int home = home(keys[slot]);
            if (((slot - home) & mask) >= ((slot - hole) & mask)) {
                keys[hole] = keys[slot];
                values[hole] = values[slot];
                hole = slot;
            }
        }
        values[hole] = ABSENT;
        size--;
        return removed;
    }

    void clear() {
        if (size > 0) {
            Arrays.fill(values, ABSENT);
            size = 0;
        }
    }

    /** Number of slots, for walks over {@link #valueAt}. */
    int slotCount() {
        return values.length;
    }

    /** The value in a slot, or {@link #ABSENT}. */
    int valueAt(int slot) {
        return values[slot];
    }

    long keyAt(int slot) {
        return keys[slot];
    }

    private int slotOf(long key) {
        int slot = home(key);
        while (values[slot] != ABSENT && keys[slot] != key) {
            slot = next(slot);
        }
        return slot;
    }

    private int home(long key) {
        return (int) key & mask;
    }

    private int next(int slot) {
        return (slot + 1) & mask;
    }

    private void grow() {
        long[] oldKeys = keys;
        int[] oldValues = values;
        allot(oldValues.length * 2);
        for (int i = 0; i < oldValues.length; i++) {
            if (oldValues[i] != ABSENT) {
                int slot = slotOf(oldKeys[i]);
                keys[slot] = oldKeys[i];
                values[slot] = oldValues[i];
            }
        }
    }

    /** @param slotCount a power of two */
    private void allot(int slotCount) {
        keys = new long[slotCount];
        values = new int[slotCount];
        Arrays.fill(values, ABSENT);
        mask = slotCount - 1;
    }
}
