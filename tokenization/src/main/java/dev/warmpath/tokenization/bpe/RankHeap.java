package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/** A binary heap of places by rank, then by place, each pair in one {@code long}. */
final class RankHeap {
    static final long EMPTY = Long.MAX_VALUE;

    private long[] entries = {};
    private int size;

    static int rank(long entry) {
        return (int) (entry >>> 32);
    }

    static int place(long entry) {
        return (int) entry;
    }

    /** Empties it; that many can wait before it grows. */
    void clear(int capacity) {
        entries = new long[capacity];
        size = 0;
    }

    void add(int rank, int place) {
        if (size == entries.length) {
            entries = Arrays.copyOf(entries, Math.max(16, 2 * size));
        }
        long entry = (long) rank << 32 | place;
        int at = size++;
        while (at > 0 && entries[at - 1 >> 1] > entry) {
            entries[at] = entries[at - 1 >> 1];
            at = at - 1 >> 1;
        }
        entries[at] = entry;
    }

    /** Takes the least, or {@link #EMPTY}. */
    long poll() {
        if (size == 0) {
            return EMPTY;
        }
        long least = entries[0];
        sink(entries[--size]);
        return least;
    }

    private void sink(long entry) {
        int at = 0;
        for (int child = 1; child < size; child = 2 * at + 1) {
            child += child + 1 < size && entries[child + 1] < entries[child] ? 1 : 0;
            if (entries[child] >= entry) {
                break;
            }
            entries[at] = entries[child];
            at = child;
        }
        entries[at] = entry;
    }
}
