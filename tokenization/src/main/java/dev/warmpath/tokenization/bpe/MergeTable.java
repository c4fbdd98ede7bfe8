package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/**
 * Which two neighbours become one token, and in which order: pair of ids → rank and id of the two together. Filled
 * once, then read by all. Open addressing, two thirds full at most, key and value side by side: a cache line a look-up.
 */
final class MergeTable {
    /** No such merge; greater than every other value. */
    static final long NONE = Long.MAX_VALUE;
    private static final long FREE = -1;

    /** [2 * slots]: key, value, key, value, … */
    private final long[] entries;
    private final int mask;

    MergeTable(int mergeCount) {
        int slots = Integer.highestOneBit(mergeCount + mergeCount / 2 + 8) << 1;
        entries = new long[2 * slots];
        Arrays.fill(entries, FREE);
        mask = slots - 1;
    }

    /** A later rank for the same pair takes the place of the earlier one. */
    void put(int left, int right, int rank, int id) {
        long key = key(left, right);
        int slot = slot(key);
        while (entries[2 * slot] != FREE && entries[2 * slot] != key) {
            slot = slot + 1 & mask;
        }
        entries[2 * slot] = key;
        entries[2 * slot + 1] = (long) rank << 32 | id;
    }

    /** @return rank in the upper half, so that the least is merged first; id in the lower; or {@link #NONE} */
    long find(int left, int right) {
        long key = key(left, right);
        for (int slot = slot(key); ; slot = slot + 1 & mask) {
            long found = entries[2 * slot];
            if (found == key) {
                return entries[2 * slot + 1];
            }
            if (found == FREE) {
                return NONE;
            }
        }
    }

    static int rank(long merge) {
        return (int) (merge >>> 32);
    }

    static int id(long merge) {
        return (int) merge;
    }

    private static long key(int left, int right) {
        return (long) left << 32 | right;
    }

    private int slot(long key) {
        return (int) ((key ^ key >>> 29) * 0x9E3779B97F4A7C15L >>> 34) & mask;
    }
}
