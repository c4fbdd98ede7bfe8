package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/**
 * The ids of words that are in the vocabulary as they stand. Filled once, then read by all. Open addressing, two thirds
 * full at most.
 * Memory: the bytes, and 60 to 80 for each id.
 */
final class Vocabulary {
    static final int NO_ID = -1;
    private static final int LONGS = 3;

    private final byte[][] pieces;
    /** [LONGS * slots]: the two halves of the key, id; a second half of 0 is a free slot, as no word is empty. */
    private final long[] slots;
    private final int mask;
    private int longestBytes;

    /** @param idCount one past the largest id */
    Vocabulary(int idCount) {
        pieces = new byte[idCount][];
        int slotCount = Integer.highestOneBit(idCount + idCount / 2 + 8) << 1;
        slots = new long[LONGS * slotCount];
        mask = slotCount - 1;
    }

    /** @return false if the id has a piece, or is none */
    boolean put(int id, byte[] piece) {
        if (id < 0 || id >= pieces.length || pieces[id] != null || piece.length == 0) {
            return false;
        }
        pieces[id] = piece;
        longestBytes = Math.max(longestBytes, piece.length);
        byte[] padded = Arrays.copyOf(piece, piece.length + Utf8.PADDING);
        long first = WordKey.first(padded, 0, piece.length);
        long second = WordKey.second(padded, 0, piece.length);
        int slot = WordKey.spread(first, second) & mask;
        while (slots[LONGS * slot + 1] != 0) {
            slot = slot + 1 & mask;
        }
        slots[LONGS * slot] = first;
        slots[LONGS * slot + 1] = second;
        slots[LONGS * slot + 2] = id;
        return true;
    }

    /** The id of the word {@code text[from, from + length)} with that key and spread, or {@link #NO_ID}. */
    int find(long first, long second, int spread, byte[] text, int from, int length) {
        for (int slot = spread & mask; ; slot = slot + 1 & mask) {
            int at = LONGS * slot;
            if (slots[at] == first && slots[at + 1] == second) {
                int id = (int) slots[at + 2];
                if (length <= WordKey.EXACT_BYTES || isPiece(id, text, from, length)) {
                    return id;
                }
            } else if (slots[at + 1] == 0) {
                return NO_ID;
            }
        }
    }

    private boolean isPiece(int id, byte[] text, int from, int length) {
        byte[] piece = pieces[id];
        return Arrays.equals(piece, 0, piece.length, text, from, from + length);
    }

    /** One past the largest id. */
    int idCount() {
        return pieces.length;
    }

    int longestBytes() {
        return longestBytes;
    }
}
