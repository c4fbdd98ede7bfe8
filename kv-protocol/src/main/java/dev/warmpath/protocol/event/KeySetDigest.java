package dev.warmpath.protocol.event;

/**
 * An order-free checksum of a set of keys: the sum, modulo 2^64, of every key after mixing. Adding and removing a key
 * are one addition each, so both ends keep it up to date for next to nothing. It finds lost and doubled changes; it is
 * no defence against somebody who chooses the keys.
 */
public final class KeySetDigest {

    private long sum;
    private int count;

    public void add(long key) {
        sum += mix(key);
        count++;
    }

    public void remove(long key) {
        sum -= mix(key);
        count--;
    }

    public void clear() {
        sum = 0;
        count = 0;
    }

    public long value() {
        return sum;
    }

    /** Number of keys added less removed. */
    public int count() {
        return count;
    }

    /**
     * The finalizer of SplitMix64 (Steele, Lea, Flood 2014): without it, sets of related keys would collide in their
     * plain sum. Part of the wire contract. One to one, so a table may keep the mixed key in place of the key.
     */
    public static long mix(long key) {
        long z = (key ^ (key >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }
}
