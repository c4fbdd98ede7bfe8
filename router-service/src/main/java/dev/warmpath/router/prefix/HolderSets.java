package dev.warmpath.router.prefix;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Who holds a key, in one {@code int}: most keys have one holder, and those of popular prefixes share few sets.
 *
 * <pre>
 *   0        nobody
 *   o + 1    the worker with ordinal o alone
 *   ~id      the set with that id, of two workers or more
 * </pre>
 * A set is a bit per ordinal, kept once in {@link InternedSets}; whoever stores a holder owns one reference to it. For
 * readers one worker alone is a set too, so that all holders compare alike, by the array.
 *
 * <p>One thread writes; any number ask.
 */
final class HolderSets {

    static final int NONE = 0;
    static final long[] NOBODY = {};
    private static final int FIRST_SINGLES = 64;

    private final InternedSets sets = new InternedSets();
    /** By ordinal, the set of it alone; each is made once and stays. Replaced when it grows. */
    private volatile long[][] singles = grown(new long[0][], FIRST_SINGLES);
    /** The set being looked up. */
    private long[] scratch = new long[1];
    private int scratchWords;

    // ---- readers

    /**
     * The bits of a holder, never written again. As long as a key's holder stays, it is the same array each time; null
     * if there is no such set: the holder was read in the middle of a change.
     */
    long @Nullable [] setOf(int holder) {
        if (holder > 0) {
            long[][] all = singles;
            return holder <= all.length ? all[holder - 1] : null;
        }
        return holder == NONE ? NOBODY : sets.get(~holder);
    }

    /** Whether the ordinal is in; false, too, for a holder that was read in the middle of a change. */
    boolean contains(int holder, int ordinal) {
        if (holder >= 0) {
            return holder == ordinal + 1;
        }
        long[] set = sets.get(~holder);
        return set != null && isIn(set, ordinal);
    }

    /** Whether a set of ordinals has one. */
    static boolean isIn(long[] set, int ordinal) {
        return ordinal / Long.SIZE < set.length && (set[ordinal / Long.SIZE] >>> ordinal & 1) != 0;
    }

    // ---- the writer

    /** The holder with one worker more, with a reference for the caller; the same holder, without one, if it is in. */
    int with(int holder, int ordinal) {
        if (holder == NONE) {
            return single(ordinal);
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
        long[] set = holder < 0 ? Objects.requireNonNull(sets.get(~holder)) : NOBODY;
        for (int i = 0; i < Math.min(set.length, ordinals.length); i++) {
            if ((set[i] & ordinals[i]) != 0) {
                return i * Long.SIZE + Long.numberOfTrailingZeros(set[i] & ordinals[i]);
            }
        }
        return -1;
    }

    /** Gives one reference back. */
    void release(int holder) {
        if (holder < 0) {
            sets.release(~holder);
        }
    }

    /** Number of sets in use. */
    int count() {
        return sets.count();
    }

    long bytes() {
        return sets.bytes() + Arrays.stream(singles).mapToLong(InternedSets::sizeOf).sum();
    }

    /** One more than any id. */
    int idLimit() {
        return sets.limit();
    }

    /** @param used how often each id is stored; longer than any id */
    void checkIntegrity(int[] used) {
        sets.checkIntegrity(used);
    }

    // ---- details

    private int flipped(int holder, int ordinal) {
        load(holder, ordinal / Long.SIZE + 1);
        scratch[ordinal / Long.SIZE] ^= 1L << ordinal;
        while (scratch[scratchWords - 1] == 0) {
            scratchWords--;
        }
        int only = onlyOrdinal();
        return only >= 0 ? single(only) : ~sets.idOf(scratch, scratchWords);
    }

    private void load(int holder, int atLeastWords) {
        long[] set = Objects.requireNonNull(setOf(holder));
        scratchWords = Math.max(set.length, atLeastWords);
        scratch = scratch.length < scratchWords ? new long[scratchWords] : scratch;
        System.arraycopy(set, 0, scratch, 0, set.length);
        Arrays.fill(scratch, set.length, scratchWords, 0);
    }

    private int single(int ordinal) {
        if (ordinal >= singles.length) {
            singles = grown(singles, ordinal + 1 + ordinal / 4);
        }
        return ordinal + 1;
    }

    private static long[][] grown(long[][] singles, int length) {
        long[][] more = Arrays.copyOf(singles, length);
        for (int ordinal = singles.length; ordinal < length; ordinal++) {
            more[ordinal] = new long[ordinal / Long.SIZE + 1];
            more[ordinal][ordinal / Long.SIZE] = 1L << ordinal;
        }
        return more;
    }

    /** The scratch set's only member, or -1 if it has more. */
    private int onlyOrdinal() {
        int members = 0;
        for (int i = 0; i < scratchWords; i++) {
            members += Long.bitCount(scratch[i]);
        }
        return members == 1 ? scratchWords * Long.SIZE - 1 - Long.numberOfLeadingZeros(scratch[scratchWords - 1]) : -1;
    }
}
