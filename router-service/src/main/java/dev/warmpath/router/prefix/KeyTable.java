package dev.warmpath.router.prefix;

import dev.warmpath.protocol.event.KeySetDigest;
import java.lang.invoke.VarHandle;
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

    /** 10 million keys make tables of 20,000, which a core copies within its own cache. */
    static final int SHARD_BITS = 9;
    static final int SHARDS = 1 << SHARD_BITS;
    /**
     * As improbable as any other sum. {@link #touch} is a prefetch: if nobody asked for the sum of what it reads, the
     * JIT would drop the reads.
     */
    private static final int NEVER = 0x5eed_ca4e;

    private final AtomicReferenceArray<Shard> shards = new AtomicReferenceArray<>(SHARDS);
    /**
     * What the shards refer to, once more: two small arrays stay in a near cache where so many shards do not, and a
     * look-up waits for its place and for the shard's version at once instead of one after the other.
     */
    private final int[][] slots = new int[SHARDS][];
    private final int[] capacities = new int[SHARDS];
    private final Occupancy occupancy = new Occupancy();
    private final HolderSets sets = new HolderSets();
    private long size;

    KeyTable() {
        for (int i = 0; i < SHARDS; i++) {
            put(i, Shard.empty());
        }
    }

    /** Whoever still reads the shard that was there before finds it closed, having seen any of this. */
    private void put(int index, Shard shard) {
        VarHandle.releaseFence();
        slots[index] = shard.slots();
        capacities[index] = shard.capacity();
        shards.setRelease(index, shard);
    }

    // ---- readers

    /** Who holds a mixed key: a set of ordinals, not to be written. The same array as long as its holders stay. */
    long[] holders(long key) {
        int index = shardOf(key);
        while (occupancy.mayHold(key)) {
            Shard shard = shard(index);
            int version = shard.version();
            if ((version & 1) == 0) {
                long[] set = sets.setOf(Shard.holderOf(slots[index], capacities[index], key));
                if (set != null && shard.isStill(version)) {
                    return set;
                }
            }
            Thread.yield();                                        // the writer may have lost its core in a change
        }
        return HolderSets.NOBODY;
    }

    /** False: nobody holds the mixed key. Far cheaper than who does. */
    boolean mayBeHeld(long key) {
        return occupancy.mayHold(key);
    }

    /** The same for several at once. @return bit i is set if keys[i] may be held */
    int mayBeHeld(long[] keys, int count) {
        return occupancy.mayHold(keys, count);
    }

    Shard shard(int index) {
        return shards.getAcquire(index);
    }

    /**
     * Brings what look-ups of some mixed keys read into the cache, their misses overlapping: the time of the slowest
     * instead of their sum. For readers and the writer.
     */
    void touch(long[] keys, int from, int to) {
        int sum = 0;
        for (int i = from; i < to; i++) {
            sum += touch(keys[i]) + occupancy.touch(keys[i]);
        }
        need(sum);
    }

    private int touch(long key) {
        int index = shardOf(key);
        return shards.getPlain(index).version() + Shard.touch(slots[index], capacities[index], key);
    }

    private static void need(int sum) {
        if (sum == NEVER) {
            Thread.onSpinWait();
        }
    }

    // ---- the writer, after touching what it is about to change

    /**
     * The same mixed keys, with those of a shard side by side (a counting sort): a load then works on one shard
     * after the other, each in the core's cache, and takes 15 % less time, the sorting included.
     */
    static long[] byShard(long[] keys) {
        int[] next = new int[SHARDS + 1];
        for (long key : keys) {
            next[shardOf(key) + 1]++;
        }
        for (int shard = 0; shard < SHARDS; shard++) {
            next[shard + 1] += next[shard];
        }
        long[] ordered = new long[keys.length];
        for (long key : keys) {
            ordered[next[shardOf(key)]++] = key;
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
            occupancy.set(key);
            shard.insert(place, key, after);
            size++;
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
            occupancy.clear(shard, place);
            shard.remove(place);
            size--;
        } else {
            shard.setHolder(place, after);
        }
        sets.release(before);
    }

    private void keepInShape(int shardIndex, Shard shard) {
        if (shard.isOutOfShape()) {
            Shard resized = shard.resized();
            shard.close();
            put(shardIndex, resized);
            keepOccupancyInShape();
        }
    }

    private void keepOccupancyInShape() {
        while (occupancy.isChanging(size)) {
            occupancy.takeOver(shards.getPlain(occupancy.nextShard()));
            if (size > Occupancy.FEW_KEYS) {
                return;
            }
        }
    }

    // ---- statistics, as of about now: the writer goes on meanwhile

    /** Distinct keys. */
    long size() {
        return size;
    }

    int holderSets() {
        return sets.count();
    }

    long bytes() {
        return sum(Shard::bytes) + occupancy.bytes() + sets.bytes();
    }

    private long sum(ToLongFunction<Shard> what) {
        long sum = 0;
        for (int i = 0; i < SHARDS; i++) {
            sum += what.applyAsLong(shard(i));
        }
        return sum;
    }

    /**
     * Checks every shard, and that the occupancy is theirs and sets are referred to as often as they are stored.
     *
     * @param totals gets what each ordinal holds; longer than any ordinal
     * @throws IllegalStateException if something is not as it should be
     */
    void checkIntegrity(WorkerKeys.Totals[] totals) {
        int[] used = new int[sets.idLimit()];
        long[] keys = new long[(int) size];
        int keyCount = 0;
        Arrays.fill(totals, new WorkerKeys.Totals(0, 0));
        for (int i = 0; i < SHARDS; i++) {
            Shard shard = shard(i);
            shard.checkIntegrity();
            for (int place = 0; place < shard.places(); place++) {
                int holder = shard.holderAt(place);
                if (holder != HolderSets.NONE) {
                    long key = shard.keyAt(place);
                    keys[keyCount++] = key;
                    if (shardOf(key) != i) {
                        throw new IllegalStateException("key " + key + " is in shard " + i);
                    }
                    if (holder < 0) {
                        used[~holder]++;
                    }
                    BitSet ordinals = BitSet.valueOf(Objects.requireNonNull(sets.setOf(holder)));
                    ordinals.stream().forEach(ordinal -> totals[ordinal] =
                            new WorkerKeys.Totals(totals[ordinal].size() + 1, totals[ordinal].digest() + key));
                }
            }
        }
        if (keyCount != size) {
            throw new IllegalStateException(keyCount + " keys are there, " + size + " counted");
        }
        occupancy.checkIntegrity(keys);
        sets.checkIntegrity(used);
    }

    static int shardOf(long key) {
        return (int) (key >>> (Long.SIZE - SHARD_BITS));
    }
}
