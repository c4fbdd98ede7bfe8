package dev.warmpath.worker.compute.cuda;

import java.util.Arrays;

/**
 * The order of some sizes, largest first; equal ones in the order in which they were added.
 *
 * <p>A radix sort, one pass for each byte that the largest size has: it takes as long whatever the sizes are. The
 * library's sort of a {@code long[]} is no choice where nothing may be allocated: on processors for which the virtual
 * machine has a vector body it makes a small array for each partition. Measured on one of those against it, random
 * block counts: 0.29 against 0.16 us for 64 sizes, 0.8 against 0.7 us for 256, 24 against 56 us for 8,192.
 *
 * <p>Buffers grow to the most sizes and stay; nothing is allocated otherwise. Not thread-safe.
 */
final class LargestFirst {

    private static final int DIGIT_BITS = 8;
    private static final int LARGEST_DIGIT = (1 << DIGIT_BITS) - 1;

    /** The size in the high half, the index in the low one. */
    private long[] keys = new long[16];
    private long[] spare = new long[16];
    /** [digit], largest first: how many keys have it, then where the next one with it goes. */
    private final int[] places = new int[LARGEST_DIGIT + 1];
    private int count;
    private int sizeBits;

    /** Forgets all sizes and makes room for {@code capacity} others. */
    void restart(int capacity) {
        if (keys.length < capacity) {
            keys = new long[2 * capacity];
            spare = new long[2 * capacity];
        }
        count = 0;
        sizeBits = 0;
    }

    /** Adds a size, not negative; its index is the number of those before it. */
    void add(int size) {
        keys[count] = (long) size << Integer.SIZE | count;
        count++;
        sizeBits |= size;
    }

    void sort() {
        for (int shift = 0; shift < Integer.SIZE && sizeBits >>> shift != 0; shift += DIGIT_BITS) {
            sortByDigit(Integer.SIZE + shift);
        }
    }

    private void sortByDigit(int shift) {
        Arrays.fill(places, 0);
        for (int i = 0; i < count; i++) {
            places[placeOfDigit(keys[i], shift)]++;
        }
        int next = 0;
        for (int place = 0; place < places.length; place++) {
            int keysWithDigit = places[place];
            places[place] = next;
            next += keysWithDigit;
        }
        for (int i = 0; i < count; i++) {
            spare[places[placeOfDigit(keys[i], shift)]++] = keys[i];
        }
        long[] sorted = spare;
        spare = keys;
        keys = sorted;
    }

    private static int placeOfDigit(long key, int shift) {
        return LARGEST_DIGIT - ((int) (key >>> shift) & LARGEST_DIGIT);
    }

    /** Index of the size that comes at {@code place}, from 0, once sorted. */
    int index(int place) {
        return (int) keys[place];
    }
}
