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
 * keys beside a table of holders costs two. Open addressing with linear probing; holder 0 marks a free place, so that
 * any key may be kept. A removal closes the hole behind it, hence no tombstones. At most three quarters full, at least
 * 11/20, between 16 and 22 bytes an entry. Keys are mixed beforehand, so their bits are the home and need no hashing
 * when a table is copied.
 */
final class Shard {

    private static final VarHandle VERSION;
    private static final int INTS_PER_SLOT = 3;
    private static final int SMALLEST_CAPACITY = 16;

    private final int[] slots;
    private final int capacity;
    private int size;
    private int version;

    static {
        try {
            VERSION = MethodHandles.lookup().findVarHandle(Shard.class, "version", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private Shard(int capacity) {
        this.capacity = capacity;
        this.slots = new int[capacity * INTS_PER_SLOT];
    }

    static Shard empty() {
        return new Shard(SMALLEST_CAPACITY);
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
    int touch(long key) {
        return slots[homeOf(key) * INTS_PER_SLOT];
    }

    /** {@link HolderSets#NONE} if the key is not there. */
    int holderOf(long key) {
        return holderAt(placeOf(key));
    }

    // ---- the writer, and readers of what they confirm

    /** Where the key is, or the free place where it would go. */
    int placeOf(long key) {
        int low = (int) key;
        int high = (int) (key >>> Integer.SIZE);
        int at = homeOf(key) * INTS_PER_SLOT;
        while (slots[at + 2] != HolderSets.NONE && (slots[at] != low || slots[at + 1] != high)) {
            at += INTS_PER_SLOT;
            if (at == slots.length) {
                at = 0;
            }
        }
        return at / INTS_PER_SLOT;
    }

    int holderAt(int place) {
        return slots[place * INTS_PER_SLOT + 2];
    }

    // ---- the writer

    int size() {
        return size;
    }

    int capacity() {
        return capacity;
    }

    long bytes() {
        return (long) slots.length * Integer.BYTES;
    }

    /** @param place a free one, from {@link #placeOf} */
    void insert(int place, long key, int holder) {
        beginChange();
        put(place, key, holder);
        size++;
        endChange();
    }

    void setHolder(int place, int holder) {
        beginChange();
        slots[place * INTS_PER_SLOT + 2] = holder;
        endChange();
    }

    /** Moves later keys of the run forward, so that none is cut off from its home (Knuth, vol. 3, 6.4, algorithm R). */
    void remove(int place) {
        beginChange();
        int free = place;
        for (int next = next(place); holderAt(next) != HolderSets.NONE; next = next(next)) {
            int home = homeOf(keyAt(next));
            boolean homeLiesBehindTheHole = free <= next ? free < home && home <= next : free < home || home <= next;
            if (!homeLiesBehindTheHole) {
                put(free, keyAt(next), holderAt(next));
                free = next;
            }
        }
        put(free, 0, HolderSets.NONE);
        size--;
        endChange();
    }

    /** True if the table has become too full or too empty, and {@link #resized} should take its place. */
    boolean isOutOfShape() {
        return size * 3L > capacity * 2L || size * 25L < capacity * 13L && capacity > SMALLEST_CAPACITY;
    }

    /** A copy that is five eighths full. */
    Shard resized() {
        var copy = new Shard(Math.max(SMALLEST_CAPACITY, (int) (size * 9L / 5)));
        for (int place = 0; place < capacity; place++) {
            if (holderAt(place) != HolderSets.NONE) {
                long key = keyAt(place);
                copy.put(copy.placeOf(key), key, holderAt(place));
            }
        }
        copy.size = size;
        return copy;
    }

    /** Sends its readers elsewhere, for good. */
    void close() {
        beginChange();
    }

    // ---- details

    private void beginChange() {
        version++;
        VarHandle.storeStoreFence();
    }

    private void endChange() {
        VERSION.setRelease(this, version + 1);
    }

    private long keyAt(int place) {
        int at = place * INTS_PER_SLOT;
        return slots[at] & 0xffff_ffffL | (long) slots[at + 1] << Integer.SIZE;
    }

    private void put(int place, long key, int holder) {
        int at = place * INTS_PER_SLOT;
        slots[at] = (int) key;
        slots[at + 1] = (int) (key >>> Integer.SIZE);
        slots[at + 2] = holder;
    }

    private int next(int place) {
        return place + 1 == capacity ? 0 : place + 1;
    }

    /** The 32 bits below those that chose the shard, as a fraction of the capacity: any capacity will do. */
    private int homeOf(long key) {
        return (int) (((key << KeyTable.SHARD_BITS) >>> Integer.SIZE) * capacity >>> Integer.SIZE);
    }
}
