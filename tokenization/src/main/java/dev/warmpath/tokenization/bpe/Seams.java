package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/**
 * Where a text may be cut although no pre-tokenizer cuts it: between two characters that no merge brings together, the
 * first as the last of its left piece, the second as the first of its right one. What is on one side of such a seam is
 * merged as if the other was not there, so cutting changes no id. Most models have a seam before each space that ends
 * a word; Gemma 3 has a merge over that border, of {@code >} and {@code ▁</}.
 *
 * <p>Filled once, then read by all. Two characters of ASCII are a bit; others wait in a table with open addressing.
 */
final class Seams {
    private static final int ASCII = 128;
    private static final long FREE = -1;

    /** [left * 2 + right / 64], a bit for each right. */
    private final long[] ascii = new long[2 * ASCII];
    private long[] pairs = new long[64];
    private int count;

    Seams() {
        Arrays.fill(pairs, FREE);
    }

    /** A merge brings these together. */
    void close(int left, int right) {
        if ((left | right) < ASCII) {
            ascii[2 * left + (right >> 6)] |= 1L << right;
            return;
        }
        if (2 * count >= pairs.length) {
            grow();
        }
        long pair = pair(left, right);
        int slot = slot(pair);
        count += pairs[slot] == FREE ? 1 : 0;
        pairs[slot] = pair;
    }

    private void grow() {
        long[] old = pairs;
        pairs = new long[2 * old.length];
        Arrays.fill(pairs, FREE);
        for (long pair : old) {
            if (pair != FREE) {
                pairs[slot(pair)] = pair;
            }
        }
    }

    boolean isBetween(int left, int right) {
        if ((left | right) < ASCII) {
            return (ascii[2 * left + (right >> 6)] >>> right & 1) == 0;
        }
        long pair = pair(left, right);
        return pairs[slot(pair)] != pair;
    }

    private static long pair(int left, int right) {
        return (long) left << 32 | right;
    }

    /** Where it is, or would be put. */
    private int slot(long pair) {
        int mask = pairs.length - 1;
        int slot = (int) ((pair ^ pair >>> 29) * 0x9E3779B97F4A7C15L >>> 34) & mask;
        while (pairs[slot] != FREE && pairs[slot] != pair) {
            slot = slot + 1 & mask;
        }
        return slot;
    }
}
