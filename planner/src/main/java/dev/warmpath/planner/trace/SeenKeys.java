package dev.warmpath.planner.trace;

/**
 * Which keys have been seen. Up to four million it knows exactly, in 64 MB; then it goes on as a Bloom filter (Bloom
 * 1970) of 2^30 bits and four hashes, 128 MB: with 50 million keys one in 800 that is new is taken for seen, with 150
 * million one in 30.
 */
public final class SeenKeys {

    private static final int MOST_EXACT = 4_000_000;
    private static final int FIRST_SLOTS = 1 << 12;
    private static final int FILTER_BITS = 30;
    private static final int HASHES = 4;
    private static final long MIX = 0x9e3779b97f4a7c15L;

    private long[] slots = new long[FIRST_SLOTS];
    private long[] filter = {};
    private int count;
    private boolean hasZero;

    /** @return whether it is new */
    public boolean add(long key) {
        if (filter.length > 0) {
            return addToFilter(key);
        }
        if (key == 0) {                                            // an empty slot's
            boolean isNew = !hasZero;
            hasZero = true;
            return isNew;
        }
        int slot = slot(slots, key);
        if (slots[slot] == key) {
            return false;
        }
        slots[slot] = key;
        if (++count * 2 > slots.length) {
            grow();
        }
        return true;
    }

    public boolean contains(long key) {
        return filter.length > 0 ? isInFilter(key) : key == 0 ? hasZero : slots[slot(slots, key)] == key;
    }

    /** Whether what is new is always known for new. */
    public boolean isExact() {
        return filter.length == 0;
    }

    private void grow() {
        if (count > MOST_EXACT) {
            filter = new long[1 << FILTER_BITS - 6];
            for (long key : slots) {
                if (key != 0) {
                    addToFilter(key);
                }
            }
            if (hasZero) {
                addToFilter(0);
            }
            slots = new long[0];
            return;
        }
        long[] larger = new long[slots.length * 2];
        for (long key : slots) {
            if (key != 0) {
                larger[slot(larger, key)] = key;
            }
        }
        slots = larger;
    }

    private static int slot(long[] slots, long key) {
        int slot = (int) (key * MIX >>> 33) & slots.length - 1;
        while (slots[slot] != 0 && slots[slot] != key) {
            slot = slot + 1 & slots.length - 1;
        }
        return slot;
    }

    private boolean addToFilter(long key) {
        boolean isNew = false;
        long step = step(key);
        long at = key * MIX;
        for (int i = 0; i < HASHES; i++, at += step) {
            int bit = (int) (at >>> Long.SIZE - FILTER_BITS);
            isNew |= (filter[bit >>> 6] & 1L << bit) == 0;
            filter[bit >>> 6] |= 1L << bit;
        }
        return isNew;
    }

    private boolean isInFilter(long key) {
        long step = step(key);
        long at = key * MIX;
        for (int i = 0; i < HASHES; i++, at += step) {
            int bit = (int) (at >>> Long.SIZE - FILTER_BITS);
            if ((filter[bit >>> 6] & 1L << bit) == 0) {
                return false;
            }
        }
        return true;
    }

    private static long step(long key) {
        return (Long.rotateLeft(key, 32) ^ MIX) * 0xbf58476d1ce4e5b9L | 1;
    }
}
