package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.KeySetDigest;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Who holds a key, in one {@code int}: most keys have one holder, and those of popular prefixes share few sets.
 *
 * <pre>
 *   0        nobody
 *   o + 1    the worker with ordinal o alone
 *   ~id      the set with that id, of two workers or more
 * </pre>
 * A set is a bit per ordinal, never written after it is made. Equal sets have one id; whoever stores a holder owns one
 * reference to it, and an id without references is used again.
 *
 * <p>The tables by id stay as long as they once were, 16 to 24 bytes for each set of the fullest moment: there are far
 * fewer sets than keys, and what has been needed will be needed again.
 *
 * <p>One thread writes; any number ask.
 */
final class HolderSets {

    static final int NONE = 0;
    private static final int WORD_SHIFT = 6;
    private static final int NO_ID = -1;
    private static final long[] NOBODY = {};
    private static final int ARRAY_HEADER_BYTES = 16;

    /** By id; null where the id is free. Replaced when it grows. */
    private volatile long[][] sets = new long[16][];
    /** References to each id; for a free one, the next free one. */
    private int[] references = new int[16];
    private int usedIds;
    private int firstFree = NO_ID;
    private int count;
    private long setBytes;
    /** Open addressing: id + 1 at the place of the set's hash, at most half full. */
    private int[] ids = new int[64];
    /** The set being looked up. */
    private long[] scratch = new long[1];
    private int scratchWords;

    // ---- readers

    /**
     * Writes the set's bits.
     *
     * @param words how many to write; ordinals beyond are left out
     * @return false if there is no such set: the holder was read in the middle of a change
     */
    boolean copyInto(int holder, long[] target, int at, int words) {
        if (holder >= 0) {
            for (int i = 0; i < words; i++) {
                target[at + i] = (holder - 1) >> WORD_SHIFT == i ? 1L << (holder - 1) : 0;
            }
            return true;
        }
        long[] set = setOf(holder);
        for (int i = 0; set != null && i < words; i++) {
            target[at + i] = i < set.length ? set[i] : 0;
        }
        return set != null;
    }

    /** Whether some of the ordinals are in; false, too, for a holder that was read in the middle of a change. */
    boolean anyOf(long[] ordinals, int holder) {
        if (holder >= 0) {
            return holder > 0 && isIn(ordinals, holder - 1);
        }
        long[] set = setOf(holder);
        long common = 0;
        for (int i = 0; set != null && i < Math.min(set.length, ordinals.length); i++) {
            common |= set[i] & ordinals[i];
        }
        return common != 0;
    }

    /** Whether the ordinal is in; false, too, for a holder that was read in the middle of a change. */
    boolean contains(int holder, int ordinal) {
        if (holder >= 0) {
            return holder == ordinal + 1;
        }
        long[] set = setOf(holder);
        return set != null && isIn(set, ordinal);
    }

    /** Null if there is none. */
    private long @Nullable [] setOf(int holder) {
        long[][] all = sets;
        return ~holder < all.length ? all[~holder] : null;
    }

    private static boolean isIn(long[] set, int ordinal) {
        return ordinal / Long.SIZE < set.length && (set[ordinal / Long.SIZE] >>> ordinal & 1) != 0;
    }

    // ---- the writer

    /** The holder with one worker more, with a reference for the caller; the same holder, without one, if it is in. */
    int with(int holder, int ordinal) {
        if (holder == NONE) {
            return ordinal + 1;
        }
        return contains(holder, ordinal) ? holder : flipped(holder, ordinal);
    }

    /** The holder with one worker less, with a reference for the caller; the same, without one, if it is not in. */
    int without(int holder, int ordinal) {
        if (!contains(holder, ordinal)) {
            return holder;
        }
        return holder > 0 ? NONE : flipped(holder, ordinal);
    }

    /** The lowest of some ordinals that is in, or -1. */
    int firstOf(int holder, long[] ordinals) {
        if (holder > 0) {
            return isIn(ordinals, holder - 1) ? holder - 1 : -1;
        }
        long[] set = holder < 0 ? sets[~holder] : NOBODY;
        for (int i = 0; i < Math.min(set.length, ordinals.length); i++) {
            if ((set[i] & ordinals[i]) != 0) {
                return i * Long.SIZE + Long.numberOfTrailingZeros(set[i] & ordinals[i]);
            }
        }
        return -1;
    }

    /** Gives one reference back. */
    void release(int holder) {
        if (holder < 0 && --references[~holder] == 0) {
            free(~holder);
        }
    }

    /** Number of sets in use. */
    int count() {
        return count;
    }

    long bytes() {
        return setBytes + (long) sets.length * Integer.BYTES + (references.length + ids.length) * (long) Integer.BYTES;
    }

    /**
     * @param used how often each id is stored; longer than any id
     * @throws IllegalStateException unless sets have those references, are found by their content and of two at least
     */
    void checkIntegrity(int[] used) {
        int found = 0;
        for (int id = 0; id < sets.length; id++) {
            long[] set = sets[id];
            if (set == null ? used[id] != 0 : used[id] != references[id] || used[id] == 0) {
                throw new IllegalStateException("set " + id + " is used " + used[id] + " times, not as counted");
            }
            if (set != null) {
                found++;
                if (ids[placeOf(set, set.length)] != id + 1 || BitSet.valueOf(set).cardinality() < 2
                        || set[set.length - 1] == 0) {
                    throw new IllegalStateException("set " + id + " is not where or what it should be");
                }
            }
        }
        if (found != count) {
            throw new IllegalStateException(found + " sets are there, " + count + " counted");
        }
    }

    /** One more than any id. */
    int idLimit() {
        return sets.length;
    }

    // ---- details

    private int flipped(int holder, int ordinal) {
        load(holder, ordinal / Long.SIZE + 1);
        scratch[ordinal / Long.SIZE] ^= 1L << ordinal;
        while (scratch[scratchWords - 1] == 0) {
            scratchWords--;
        }
        int single = onlyOrdinal();
        return single >= 0 ? single + 1 : intern();
    }

    private void load(int holder, int atLeastWords) {
        long[] set = holder < 0 ? sets[~holder] : null;
        int words = set != null ? set.length : (holder - 1) / Long.SIZE + 1;
        scratchWords = Math.max(words, atLeastWords);
        scratch = scratch.length < scratchWords ? new long[scratchWords] : scratch;
        copyInto(holder, scratch, 0, scratchWords);
    }

    /** The scratch set's only member, or -1 if it has more. */
    private int onlyOrdinal() {
        int members = 0;
        for (int i = 0; i < scratchWords; i++) {
            members += Long.bitCount(scratch[i]);
        }
        return members == 1 ? scratchWords * Long.SIZE - 1 - Long.numberOfLeadingZeros(scratch[scratchWords - 1]) : -1;
    }

    private int intern() {
        int place = placeOf(scratch, scratchWords);
        if (ids[place] != 0) {
            int id = ids[place] - 1;
            references[id]++;
            return ~id;
        }
        int id = newId();
        sets[id] = Arrays.copyOf(scratch, scratchWords);
        references[id] = 1;
        setBytes += sizeOf(sets[id]);
        ids[place] = id + 1;
        count++;
        if (count * 2 > ids.length) {
            rehash(ids.length * 2);
        }
        return ~id;
    }

    private int newId() {
        if (firstFree != NO_ID) {
            int id = firstFree;
            firstFree = references[id];
            return id;
        }
        if (usedIds == references.length) {
            references = Arrays.copyOf(references, usedIds + usedIds / 4);
            sets = Arrays.copyOf(sets, references.length);
        }
        return usedIds++;
    }

    private void free(int id) {
        long[] set = sets[id];
        closeHole(placeOf(set, set.length));
        sets[id] = null;
        references[id] = firstFree;
        firstFree = id;
        setBytes -= sizeOf(set);
        count--;
    }

    /** Where the set's id is, or the free place where it would go. */
    private int placeOf(long[] set, int words) {
        int place = homeOf(set, words);
        while (ids[place] != 0) {
            long[] other = sets[ids[place] - 1];
            if (Arrays.equals(other, 0, other.length, set, 0, words)) {
                return place;
            }
            place = next(place);
        }
        return place;
    }

    /** Linear probing without tombstones (Knuth, 6.4 R); {@code KeySet} closes holes likewise, among keys. */
    private void closeHole(int hole) {
        int free = hole;
        for (int place = next(hole); ids[place] != 0; place = next(place)) {
            long[] set = sets[ids[place] - 1];
            int home = homeOf(set, set.length);
            boolean homeLiesBehindTheHole = free <= place ? free < home && home <= place : free < home || home <= place;
            if (!homeLiesBehindTheHole) {
                ids[free] = ids[place];
                free = place;
            }
        }
        ids[free] = 0;
    }

    private void rehash(int capacity) {
        int[] old = ids;
        ids = new int[capacity];
        for (int idAndOne : old) {
            if (idAndOne != 0) {
                long[] set = sets[idAndOne - 1];
                ids[placeOf(set, set.length)] = idAndOne;
            }
        }
    }

    private int homeOf(long[] set, int words) {
        long hash = 0;
        for (int i = 0; i < words; i++) {
            hash = KeySetDigest.mix(hash + set[i]);
        }
        return (int) hash & (ids.length - 1);
    }

    private int next(int place) {
        return (place + 1) & (ids.length - 1);
    }

    private static int sizeOf(long[] set) {
        return ARRAY_HEADER_BYTES + set.length * Long.BYTES;
    }
}
