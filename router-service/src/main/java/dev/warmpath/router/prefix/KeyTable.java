package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.KeySetDigest;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.ToLongFunction;

/**
 * Every key of every worker, and who holds it: many small {@link Shard}s, chosen by the first bits of the mixed key. A
 * shard that is too full or too empty is replaced by a copy while readers go on with the old one, so no growth doubles
 * the memory or stops anybody for long. Keys are {@linkplain KeySetDigest#mix mixed} once, at the border.
 *
 * <p>One thread at a time writes; any number read without locks.
 */
final class KeyTable {

    /** 10 million keys make tables of 10,000, which a core copies within its own cache. */
    static final int SHARD_BITS = 10;
    static final int SHARDS = 1 << SHARD_BITS;
    /**
     * As improbable as any other sum. {@link #touch} is a prefetch: if nobody asked for the sum of what it reads, the
     * JIT would drop the reads.
     */
    private static final int NEVER = 0x5eed_ca4e;

    private final AtomicReferenceArray<Shard> shards = new AtomicReferenceArray<>(SHARDS);
    private final HolderSets sets = new HolderSets();

    KeyTable() {
        for (int i = 0; i < SHARDS; i++) {
            shards.set(i, Shard.empty());
        }
    }

    // ---- readers

    /** Who holds a mixed key: a set of ordinals, not to be written. The same array as long as its holders stay. */
    long[] holders(long key) {
        while (true) {
            Shard shard = shard(shardOf(key));
            int version = shard.version();
            if ((version & 1) == 0) {
                long[] set = sets.setOf(shard.holderOf(key));
                if (set != null && shard.isStill(version)) {
                    return set;
                }
            }
            Thread.yield();                                        // the writer may have lost its core in a change
        }
    }

    /** False if nobody holds the mixed key for sure; a look at what is likely to be in a near cache. */
    boolean mayBeHeld(long key) {
        while (true) {
            Shard shard = shard(shardOf(key));
            int version = shard.version();
            if ((version & 1) == 0) {
                boolean mayHold = shard.mayHold(key);
                if (shard.isStill(version)) {
                    return mayHold;
                }
            }
            Thread.yield();
        }
    }

    Shard shard(int index) {
        return shards.getAcquire(index);
    }

    /**
     * Brings what look-ups of some mixed keys read into the cache, their misses overlapping: the time of the slowest
     * instead of their sum. For readers and the writer.
     */
    void touch(long[] keys, int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += shards.getPlain(shardOf(keys[i])).touch(keys[i]);
        }
        if (sum == NEVER) {
            Thread.onSpinWait();
        }
    }

    // ---- the writer, after touching what it is about to change

    /**
     * The same keys, plain ones, with those of a shard side by side (a counting sort): a load then works on one shard
     * after the other, each in the core's cache, and takes 15 % less time, the sorting included.
     */
    static long[] byShard(long[] keys) {
        int[] next = new int[SHARDS + 1];
        for (long key : keys) {
            next[shardOf(KeySetDigest.mix(key)) + 1]++;
        }
        for (int shard = 0; shard < SHARDS; shard++) {
            next[shard + 1] += next[shard];
        }
        long[] ordered = new long[keys.length];
        for (long key : keys) {
            ordered[next[shardOf(KeySetDigest.mix(key))]++] = key;
        }
        return ordered;
    }

    /** Adds the ordinal to the holders of a mixed key. @return false if it was among them */
    boolean add(long key, int ordinal) {
        Shard shard = shards.getPlain(shardOf(key));
        int place = shard.placeOf(key);
        int before = shard.holderAt(place, key);
        int after = sets.with(before, ordinal);
        if (after == before) {
            return false;
        }
        if (before == HolderSets.NONE) {
            shard.insert(place, key, after);
            keepInShape(shardOf(key), shard);
        } else {
            shard.setHolder(place, after);
            sets.release(before);
        }
        return true;
    }

    /** Takes the ordinal from the holders of a mixed key. @return false if it was not among them */
    boolean remove(long key, int ordinal) {
        Shard shard = shards.getPlain(shardOf(key));
        int place = shard.placeOf(key);
        int before = shard.holderAt(place, key);
        int after = sets.without(before, ordinal);
        if (after == before) {
            return false;
        }
        replace(shard, place, before, after);
        keepInShape(shardOf(key), shard);
        return true;
    }

    /** Takes ordinals from the holders of every key of one shard. */
    void sweep(int shardIndex, long[] ordinals) {
        Shard shard = shards.getPlain(shardIndex);
        for (int place = 0; place < shard.places(); place++) {
            int before = shard.holderAt(place);
            for (int dead = sets.firstOf(before, ordinals); dead >= 0; dead = sets.firstOf(before, ordinals)) {
                replace(shard, place, before, sets.without(before, dead));
                before = shard.holderAt(place);                    // of another key, if a hole was closed
            }
        }
        keepInShape(shardIndex, shard);
    }

    private void replace(Shard shard, int place, int before, int after) {
        if (after == HolderSets.NONE) {
            shard.remove(place);
        } else {
            shard.setHolder(place, after);
        }
        sets.release(before);
    }

    private void keepInShape(int shardIndex, Shard shard) {
        if (shard.isOutOfShape()) {
            shards.setRelease(shardIndex, shard.resized());
            shard.close();
        }
    }

    // ---- statistics, as of about now: the writer goes on meanwhile

    /** Distinct keys. */
    long size() {
        return sum(Shard::size);
    }

    int holderSets() {
        return sets.count();
    }

    long bytes() {
        return sum(Shard::bytes) + sets.bytes();
    }

    private long sum(ToLongFunction<Shard> what) {
        long sum = 0;
        for (int i = 0; i < SHARDS; i++) {
            sum += what.applyAsLong(shard(i));
        }
        return sum;
    }

    /**
     * Checks every shard, and that sets are referred to as often as they are stored.
     *
     * @param totals gets what each ordinal holds; longer than any ordinal
     * @throws IllegalStateException if something is not as it should be
     */
    void checkIntegrity(WorkerKeys.Totals[] totals) {
        int[] used = new int[sets.idLimit()];
        Arrays.fill(totals, new WorkerKeys.Totals(0, 0));
        for (int i = 0; i < SHARDS; i++) {
            Shard shard = shard(i);
            shard.checkIntegrity();
            for (int place = 0; place < shard.places(); place++) {
                int holder = shard.holderAt(place);
                if (holder != HolderSets.NONE) {
                    long key = shard.keyAt(place);
                    if (shardOf(key) != i) {
                        throw new IllegalStateException("key " + key + " is in shard " + i);
                    }
                    if (holder < 0) {
                        used[~holder]++;
                    }
                    BitSet.valueOf(Objects.requireNonNull(sets.setOf(holder))).stream().forEach(ordinal -> totals[ordinal] =
                            new WorkerKeys.Totals(totals[ordinal].size() + 1, totals[ordinal].digest() + key));
                }
            }
        }
        sets.checkIntegrity(used);
    }

    private static int shardOf(long key) {
        return (int) (key >>> (Long.SIZE - SHARD_BITS));
    }
}
