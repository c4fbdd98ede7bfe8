package dev.warmpath.protocol.event;

/**
 * A set of block keys with its digest: what a worker announces, and a reader's copy of it. Both ends change it by the
 * same rules, so that equal batches give equal sets.
 *
 * <p>Open addressing with linear probing in one {@code long[]}, at most half full; zero marks a free place, so the key
 * zero is kept beside. A removal closes the hole behind it, hence no tombstones. Not safe for use by several threads.
 */
public final class KeySet {

    private static final int SMALLEST_TABLE = 64;

    private final KeySetDigest digest = new KeySetDigest();
    private long[] table = new long[SMALLEST_TABLE];
    private boolean holdsZero;

    /** @return false if the key was there already; the digest counts it once */
    public boolean add(long key) {
        if (contains(key)) {
            return false;
        }
        if (key == 0) {
            holdsZero = true;
        } else {
            growIfHalfFull();
            table[placeOf(key)] = key;
        }
        digest.add(key);
        return true;
    }

    /** @return false if the key was not there */
    public boolean remove(long key) {
        if (!contains(key)) {
            return false;
        }
        if (key == 0) {
            holdsZero = false;
        } else {
            closeHole(placeOf(key));
        }
        digest.remove(key);
        return true;
    }

    public boolean contains(long key) {
        return key == 0 ? holdsZero : table[placeOf(key)] == key;
    }

    public void clear() {
        table = new long[SMALLEST_TABLE];
        holdsZero = false;
        digest.clear();
    }

    /** Takes one change over, key by key. */
    public void apply(BlockChange change) {
        switch (change) {
            case BlockChange.Stored(var _, var keys) -> addAll(keys);
            case BlockChange.Removed(var _, var keys) -> removeAll(keys);
            case BlockChange.Cleared() -> clear();
        }
    }

    public int size() {
        return digest.count();
    }

    /** {@link KeySetDigest} of the keys. */
    public long digest() {
        return digest.value();
    }

    /** The keys in no particular order; a new array. */
    public long[] toArray() {
        long[] keys = new long[size()];
        int count = holdsZero ? 1 : 0;                           // the array's first element is zero already
        for (long key : table) {
            if (key != 0) {
                keys[count++] = key;
            }
        }
        return keys;
    }

    private void addAll(long[] keys) {
        for (long key : keys) {
            add(key);
        }
    }

    private void removeAll(long[] keys) {
        for (long key : keys) {
            remove(key);
        }
    }

    /** Where the key is, or the free place where it would go. */
    private int placeOf(long key) {
        int place = homeOf(key);
        while (table[place] != 0 && table[place] != key) {
            place = next(place);
        }
        return place;
    }

    private int homeOf(long key) {
        return (int) KeySetDigest.mix(key) & (table.length - 1);
    }

    private int next(int place) {
        return (place + 1) & (table.length - 1);
    }

    private void growIfHalfFull() {
        if (size() * 2 < table.length) {
            return;
        }
        long[] old = table;
        table = new long[old.length * 2];
        for (long key : old) {
            if (key != 0) {
                table[placeOf(key)] = key;
            }
        }
    }

    /** Moves later keys of the run forward, so that none is cut off from its home (Knuth, vol. 3, 6.4, algorithm R). */
    private void closeHole(int hole) {
        int free = hole;
        for (int place = next(hole); table[place] != 0; place = next(place)) {
            int home = homeOf(table[place]);
            boolean homeLiesBehindTheHole = free <= place ? free < home && home <= place : free < home || home <= place;
            if (!homeLiesBehindTheHole) {
                table[free] = table[place];
                free = place;
            }
        }
        table[free] = 0;
    }
}
