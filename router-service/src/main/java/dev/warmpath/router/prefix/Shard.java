package dev.warmpath.router.prefix;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A hash table of mixed keys and their holders, small enough to be copied in passing. One thread writes; any number
 * read without locks, by a version that is odd during a change: what was read counts if the version was even before and
 * is the same after (a seqlock).
 *
 * <pre>
 *   slots   | key, low half | key, high half | holder | key, low half | …
 *           '------------- place 0 ------------------'--- place 1 ----
 * </pre>
 * Twelve bytes an entry, key and holder side by side: a look-up costs one cache miss, rarely two, where a table of
 * keys beside a table of holders costs two. A holder of 0 marks a free place, so that any key may be kept.
 *
 * <p>The keys lie in ascending order with gaps between them, each at its home or, where that is taken, as soon after it
 * as possible (ordered linear probing; Amble, Knuth 1974). So the search for a key that is absent ends at the first
 * larger one, a removal leaves no tombstone, and a copy into a larger table is one pass from end to end without a
 * comparison. A key's home is the fraction of the capacity that its bits are, so any capacity will do; keys beyond the
 * last home go into a tail as long as they need, whose last place is always free and ends every search.
 *
 * <p>Known limit: everybody can compute a key's home, so a worker that chooses its keys can aim all of them at one.
 * Inserting n of them moves some n² / 2 entries, by the writer's lock and to everybody's cost, and the search for one
 * passes many. The pool's size bounds n; that no stranger announces keys is for the fleet's token to see to.
 *
 * <p>At most five sevenths full and at least 13/25, hence 17 to 23 bytes an entry. Emptier would be faster.
 */
final class Shard {

    private static final VarHandle VERSION;
    private static final int INTS_PER_SLOT = 3;
    private static final int SMALLEST_CAPACITY = 8;
    private static final int SMALLEST_TAIL = 8;
    private static final long LOW_HALF = 0xffff_ffffL;

    private final int[] slots;
    /** Number of homes. */
    private final int capacity;
    private int size;
    /** The last place but one has been taken: nobody needs to look there, far from everything else. */
    private boolean isTailFull;
    private int version;

    static {
        try {
            VERSION = MethodHandles.lookup().findVarHandle(Shard.class, "version", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private Shard(int capacity, int tail) {
        this.capacity = capacity;
        this.slots = new int[(capacity + tail) * INTS_PER_SLOT];
    }

    static Shard empty() {
        return new Shard(SMALLEST_CAPACITY, SMALLEST_TAIL);
    }

    // ---- readers

    /** Even: what is read until {@link #isStill} confirms it is consistent. Odd: a change is going on, or for good. */
    int version() {
        return (int) VERSION.getAcquire(this);
    }

    boolean isStill(int seen) {
        VarHandle.acquireFence();
        return version == seen;
    }

    /** Brings the place where the key would be into the cache. @return something that depends on it */
    static int touch(int[] slots, int capacity, long key) {
        int at = homeOf(capacity, key) * INTS_PER_SLOT;
        return at < slots.length ? slots[at] : 0;
    }

    /**
     * The key's holder in the slots of a shard, {@link HolderSets#NONE} if it is absent. Slots of one shard with the
     * capacity of another give anything.
     */
    static int holderOf(int[] slots, int capacity, long key) {
        int at = homeOf(capacity, key) * INTS_PER_SLOT;
        if (at >= slots.length) {
            return HolderSets.NONE;
        }
        while (slots[at + 2] != HolderSets.NONE && keyAt(slots, at) < key) {
            at += INTS_PER_SLOT;
        }
        return keyAt(slots, at) == key ? slots[at + 2] : HolderSets.NONE;
    }

    private static long keyAt(int[] slots, int at) {
        return slots[at] & LOW_HALF | (long) slots[at + 1] << Integer.SIZE;
    }

    /** For those who read without asking the shard itself. */
    int[] slots() {
        return slots;
    }

    int capacity() {
        return capacity;
    }

    // ---- the writer, and readers of what they confirm

    /** Where the key is, or would be inserted. */
    int placeOf(long key) {
        int place = homeOf(key);
        while (holderAt(place) != HolderSets.NONE && keyAt(place) < key) {
            place++;
        }
        return place;
    }

    /** The key's holder, {@link HolderSets#NONE} if the place that is its own is empty or another key's. */
    int holderAt(int place, long key) {
        return keyAt(place) == key ? holderAt(place) : HolderSets.NONE;
    }

    /** Comparable by sign: all keys of a shard begin with the same bits. */
    long keyAt(int place) {
        return keyAt(slots, place * INTS_PER_SLOT);
    }

    int holderAt(int place) {
        return slots[place * INTS_PER_SLOT + 2];
    }

    // ---- the writer

    /**
     * Whether no other key has the same upper bits as the one at the place. Those that have are next to it; between
     * them lie free places at most where they span several homes.
     *
     * @param shift number of lower bits that do not matter
     */
    boolean isAlone(int place, int shift) {
        long range = keyAt(place) >>> shift;
        int first = homeOf(range << shift);
        int last = homeOf((range + 1 << shift) - 1);
        int left = place - 1;
        while (left >= first && holderAt(left) == HolderSets.NONE) {
            left--;
        }
        int right = place + 1;
        while (right < last && holderAt(right) == HolderSets.NONE) {
            right++;
        }
        return (left < first || keyAt(left) >>> shift != range)
                && (holderAt(right) == HolderSets.NONE || keyAt(right) >>> shift != range);
    }

    int size() {
        return size;
    }

    /** One more than the last place that may hold a key. */
    int places() {
        return slots.length / INTS_PER_SLOT;
    }

    long bytes() {
        return (long) slots.length * Integer.BYTES;
    }

    /** Moves keys back until there is room. @param place from {@link #placeOf}; the key is not there */
    void insert(int place, long key, int holder) {
        int gap = place;
        while (holderAt(gap) != HolderSets.NONE) {
            gap++;
        }
        beginChange();
        move(place, place + 1, gap - place);
        put(place, key, holder);
        isTailFull |= gap >= places() - 2;
        size++;
        endChange();
    }

    void setHolder(int place, int holder) {
        beginChange();
        slots[place * INTS_PER_SLOT + 2] = holder;
        endChange();
    }

    /** Moves the keys behind forward, up to the first that is at its home. */
    void remove(int place) {
        int end = place + 1;
        while (holderAt(end) != HolderSets.NONE && homeOf(keyAt(end)) < end) {
            end++;
        }
        beginChange();
        move(place + 1, place, end - place - 1);
        put(end - 1, 0, HolderSets.NONE);
        size--;
        endChange();
    }

    /** True if the table has become too full or too empty, and {@link #resized} must take its place. */
    boolean isOutOfShape() {
        return size * 7L > capacity * 5L || size * 25L < capacity * 13L && capacity > SMALLEST_CAPACITY
                || isTailFull;
    }

    /** A copy that is five ninths full. */
    Shard resized() {
        int homes = Math.max(SMALLEST_CAPACITY, (int) (size * 9L / 5));
        int tail = SMALLEST_TAIL;
        var copy = new Shard(homes, tail);
        while (!copy.takeOver(this)) {
            tail *= 2;
            copy = new Shard(homes, tail);
        }
        return copy;
    }

    /** @return false if the tail is too short to go on with */
    private boolean takeOver(Shard other) {
        int next = 0;
        for (int place = 0; place < other.places() - 1; place++) {
            int holder = other.holderAt(place);
            long key = other.keyAt(place);
            // a free place is copied too, to where the next key overwrites it: without a branch on it
            int target = holder != HolderSets.NONE ? Math.max(next, homeOf(key)) : next;
            if (target >= places() - SMALLEST_TAIL / 2) {
                return false;
            }
            put(target, key, holder);
            next = holder != HolderSets.NONE ? target + 1 : target;
        }
        size = other.size;
        return true;
    }

    /** Sends its readers elsewhere, for good. */
    void close() {
        beginChange();
    }

    /** @throws IllegalStateException unless keys ascend, each where a search finds it, as many as were counted */
    void checkIntegrity() {
        int found = 0;
        long last = Long.MIN_VALUE;
        for (int place = 0; place < places(); place++) {
            if (holderAt(place) != HolderSets.NONE) {
                long key = keyAt(place);
                if (found > 0 && key <= last || placeOf(key) != place) {
                    throw new IllegalStateException("key " + key + " is out of order at place " + place);
                }
                last = key;
                found++;
            }
        }
        if (found != size || holderAt(places() - 1) != HolderSets.NONE || (version & 1) != 0) {
            throw new IllegalStateException(found + " keys are in a shard of " + size + ", version " + version);
        }
    }

    // ---- details

    private void beginChange() {
        version++;
        VarHandle.storeStoreFence();
    }

    private void endChange() {
        VERSION.setRelease(this, version + 1);
    }

    private void move(int from, int to, int count) {
        if (count > 0) {
            System.arraycopy(slots, from * INTS_PER_SLOT, slots, to * INTS_PER_SLOT, count * INTS_PER_SLOT);
        }
    }

    private void put(int place, long key, int holder) {
        int at = place * INTS_PER_SLOT;
        slots[at] = (int) key;
        slots[at + 1] = (int) (key >>> Integer.SIZE);
        slots[at + 2] = holder;
    }

    private int homeOf(long key) {
        return homeOf(capacity, key);
    }

    /** The 32 bits below those that chose the shard, as a fraction of the capacity. */
    private static int homeOf(int capacity, long key) {
        return (int) (((key << KeyTable.SHARD_BITS) >>> Integer.SIZE) * capacity >>> Integer.SIZE);
    }
}
