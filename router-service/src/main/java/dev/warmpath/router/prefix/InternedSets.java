package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.KeySetDigest;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Bit sets by content: equal ones are kept once, under one id, as long as somebody refers to them. A set is never
 * written after it is made, and an id without references is used again.
 *
 * <p>The tables by id stay as long as they once were, 16 to 24 bytes for each set of the fullest moment: there are far
 * fewer sets than keys, and what has been needed will be needed again.
 *
 * <p>One thread writes; any number call {@link #get}.
 */
final class InternedSets {

    private static final int NO_ID = -1;
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

    /** Null if there is no such set: a reader may have the id of one that is gone. */
    long @Nullable [] get(int id) {
        long[][] all = sets;
        return id < all.length ? all[id] : null;
    }

    // ---- the writer

    /** The id of the set with that content, with a reference for the caller. @param words of {@code content} to use */
    int idOf(long[] content, int words) {
        int place = placeOf(content, words);
        if (ids[place] != 0) {
            int id = ids[place] - 1;
            references[id]++;
            return id;
        }
        int id = newId();
        sets[id] = Arrays.copyOf(content, words);
        references[id] = 1;
        setBytes += sizeOf(sets[id]);
        ids[place] = id + 1;
        count++;
        if (count * 2 > ids.length) {
            rehash(ids.length * 2);
        }
        return id;
    }

    /** Gives one reference back. */
    void release(int id) {
        if (--references[id] == 0) {
            free(id);
        }
    }

    /** Number of sets in use. */
    int count() {
        return count;
    }

    long bytes() {
        return setBytes + (long) sets.length * Integer.BYTES + (references.length + ids.length) * (long) Integer.BYTES;
    }

    /** One more than any id. */
    int limit() {
        return sets.length;
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

    // ---- details

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

    /** In memory. */
    static int sizeOf(long[] set) {
        return ARRAY_HEADER_BYTES + set.length * Long.BYTES;
    }
}
