package dev.warmpath.router.prefix;

import java.util.Arrays;

/**
 * Where there are keys at all: a bit for each range of mixed keys, four to eight ranges a key while keys become more.
 * Less than a byte a key and one array for the whole table, so that it stays in nearer caches than the {@link Shard}s
 * do: of the keys that nobody holds, four in five at least are known by one look at it.
 *
 * <pre>
 *   mixed key   | range, upper 14 to 31 bits | the rest |        bit set: a key of that range is in the table
 * </pre>
 * Exact: the keys of a range are neighbours in their shard, and the last one to go clears the bit. A bit is set before
 * its key is in the shard and cleared before the key leaves, and no reader looks into a shard without the bit: so one
 * bit is one moment, and a reader needs no version here.
 *
 * <p>If keys have become many or few, another array takes over. It is made shard by shard, one each time that a shard
 * is resized, which happens oftener than there are shards until keys have doubled again; a small one is made at once.
 *
 * <p>One thread writes; any number ask.
 */
final class Occupancy {

    private static final int LEAST_WORDS = 1 << 9;
    /** Beyond some 500 million keys it is of less and less use. */
    private static final int MOST_WORDS = 1 << 26;
    /** What is made at once: no more work than a few resizes of a shard. */
    static final int FEW_KEYS = 1 << 16;

    /** What readers see. */
    private volatile int[] words = new int[LEAST_WORDS];
    /** What is going to take over; the same if nothing is. */
    private int[] next = words;
    /** The shards whose keys are in {@link #next}. */
    private int shardsInNext = KeyTable.SHARDS;

    /** False: nobody holds the mixed key. */
    boolean mayHold(long key) {
        return bit(words, key) != 0;
    }

    /** The same for several at once. @return bit i is set if keys[i] may be held */
    int mayHold(long[] keys, int count) {
        int[] now = words;
        int may = 0;
        for (int i = 0; i < count; i++) {
            may |= bit(now, keys[i]) << i;
        }
        return may;
    }

    /** Brings a key's bit into the cache. @return the bit, for a branch on it would wait for it */
    int touch(long key) {
        return bit(words, key);
    }

    // ---- the writer

    /** To be called before the key is in its shard. */
    void set(long key) {
        set(words, key);
        if (isInNext(key)) {
            set(next, key);
        }
    }

    /** To be called before the key at the place leaves the shard. */
    void clear(Shard shard, int place) {
        clear(words, shard, place);
        if (isInNext(shard.keyAt(place))) {
            clear(next, shard, place);
        }
    }

    private boolean isInNext(long key) {
        return next != words && KeyTable.shardOf(key) < shardsInNext;
    }

    /**
     * Begins another array if there are fewer than four or more than 32 bits a key; it has five to ten.
     *
     * @return whether one is in the making
     */
    boolean isChanging(long keys) {
        if (next != words) {
            return true;
        }
        long bits = (long) words.length * Integer.SIZE;
        if (4 * keys > bits && words.length < MOST_WORDS || 32 * keys < bits && words.length > LEAST_WORDS) {
            int wanted = Math.clamp(5 * keys / Integer.SIZE, LEAST_WORDS, MOST_WORDS);
            next = new int[Integer.highestOneBit(2 * wanted - 1)];
            shardsInNext = 0;
        }
        return next != words;
    }

    /** The shard to take over next. */
    int nextShard() {
        return shardsInNext;
    }

    /** With the last shard, the other array is what readers see. */
    void takeOver(Shard shard) {
        for (int place = 0; place < shard.places(); place++) {
            if (shard.holderAt(place) != HolderSets.NONE) {
                set(next, shard.keyAt(place));
            }
        }
        shardsInNext++;
        if (shardsInNext == KeyTable.SHARDS) {
            words = next;
        }
    }

    long bytes() {
        return (words.length + (next == words ? 0L : next.length)) * Integer.BYTES;
    }

    /** @throws IllegalStateException unless a bit is set for the ranges of these keys, and for no others */
    void checkIntegrity(long[] keys) {
        check(words, keys, KeyTable.SHARDS);
        check(next, keys, shardsInNext);
    }

    private static void check(int[] words, long[] keys, int shards) {
        int[] expected = new int[words.length];
        for (long key : keys) {
            if (KeyTable.shardOf(key) < shards) {
                set(expected, key);
            }
        }
        if (!Arrays.equals(words, expected)) {
            throw new IllegalStateException("ranges are marked that have no key, or not marked that have one");
        }
    }

    // ---- details

    private static int bit(int[] words, long key) {
        long range = key >>> shift(words);
        return words[(int) (range >>> 5)] >>> range & 1;
    }

    private static void set(int[] words, long key) {
        long range = key >>> shift(words);
        words[(int) (range >>> 5)] |= 1 << range;
    }

    private static void clear(int[] words, Shard shard, int place) {
        int shift = shift(words);
        if (shard.isAlone(place, shift)) {
            long range = shard.keyAt(place) >>> shift;
            words[(int) (range >>> 5)] &= ~(1 << range);
        }
    }

    /** A power of two of words: so many bits of a key are below those that choose the range. */
    private static int shift(int[] words) {
        return Integer.numberOfLeadingZeros(words.length) + Long.SIZE - Integer.SIZE - 4;
    }
}
