package dev.warmpath.planner.analysis;

import java.util.Arrays;
import org.HdrHistogram.Histogram;

/**
 * How many other blocks were used between a block's uses: a cache that keeps what was used last, of C blocks, finds it
 * if those are fewer than C (Mattson et al., "Evaluation techniques for storage hierarchies", 1970). So one pass tells
 * what a cache of any size finds.
 *
 * <p>Up to a million blocks are followed. Of more, those whose hash is below a threshold, which falls as they become
 * more, and each stands for as many as were left out (Waldspurger et al., "Efficient MRC construction with SHARDS",
 * FAST 2015, with the threshold halved at a time). Memory is some 60 MB, whatever the trace is.
 */
final class ReuseDistances {

    private static final int MOST_FOLLOWED = 1 << 20;
    private static final long MIX = 0xd6e8feb86659fd93L;
    /** Distances below it are counted one by one, larger ones in 256 steps to each doubling. */
    private static final int EXACT = 1 << 16;
    private static final int EXACT_BITS = 16;
    private static final int STEPS = 256;
    private static final int BUCKETS = EXACT + STEPS * 44;

    private final int mostFollowed;
    /** Followed keys, their hashes' place; open addressing. */
    private long[] keys;
    /** By the same place: when it was used last, from 1; 0: the place is empty. */
    private int[] times;
    private long[] micros;
    private int followed;
    /** Fenwick's tree: how many of the times from 1 on are somebody's last use. */
    private final int[] tree;
    private int now;
    private int halvings;
    private final double[] counts = new double[BUCKETS];
    private double firsts;
    /** Uses of blocks that could be found: all of them, and as the followed ones stand for them. */
    private long uses;
    private double usesOfFollowed;
    private final Histogram gaps = new Histogram(3);

    ReuseDistances() {
        this(MOST_FOLLOWED);
    }

    /** @param mostFollowed a power of two */
    ReuseDistances(int mostFollowed) {
        this.mostFollowed = mostFollowed;
        keys = new long[mostFollowed * 2];
        times = new int[mostFollowed * 2];
        micros = new long[mostFollowed * 2];
        tree = new int[mostFollowed * 4 + 1];
    }

    /**
     * A request uses blocks. Looks first, then counts them as used, the last one first, as workers free them: a block
     * lies always before those that follow it.
     *
     * @param blocks    keys, each of all that is before it, too
     * @param matchable how many leading ones can be found: uses of the others are no hits
     * @param at        in microseconds
     */
    void use(long[] blocks, int matchable, long at) {
        uses += matchable;
        for (int i = 0; i < blocks.length; i++) {
            if (isFollowed(blocks[i])) {
                look(blocks[i], i < matchable, at);
            }
        }
        for (int i = blocks.length - 1; i >= 0; i--) {
            if (isFollowed(blocks[i])) {
                touch(blocks[i], at);
            }
        }
    }

    private void look(long key, boolean isHit, long at) {
        int place = place(key);
        double weight = weight();
        usesOfFollowed += isHit ? weight : 0;
        if (times[place] == 0) {
            firsts += weight;
            return;
        }
        gaps.recordValueWithCount(Math.max(0, at - micros[place]) / 1_000, Math.max(1, Math.round(weight)));
        if (isHit) {
            long distance = (long) ((followed - countUpTo(times[place])) * weight);
            counts[bucket(distance)] += weight;
        }
    }

    private void touch(long key, long at) {
        if (now == tree.length - 1) {
            keepFollowed();                                        // in numbers from 1 again
        }
        int place = place(key);
        now++;
        if (times[place] != 0) {
            add(times[place], -1);
        } else {
            keys[place] = key;
            followed++;
        }
        times[place] = now;
        micros[place] = at;
        add(now, 1);
        if (followed > mostFollowed) {
            halvings++;
            keepFollowed();
        }
    }

    /** Uses that a cache of so many blocks finds. */
    double hits(double capacity) {
        double hits = missedUses();
        for (int bucket = 0; bucket < BUCKETS && largest(bucket) < capacity; bucket++) {
            hits += counts[bucket];
        }
        return capacity < 1 ? 0 : Math.max(0, hits);
    }

    /**
     * By how much the followed blocks stand for fewer uses than there were: a block that is used all the time is among
     * them, and counts for its like, which are none, or is not. Either way its uses are close together, and so the
     * difference belongs to the smallest caches (SHARDS-adj in the paper). 0 while all are followed.
     */
    private double missedUses() {
        return uses - usesOfFollowed;
    }

    /** Fewest blocks with which a cache finds so many of what an endless one does. @param share of that, 0 to 1 */
    long capacityFor(double share) {
        double wanted = hits(Double.POSITIVE_INFINITY) * share;
        double hits = missedUses();
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            hits += counts[bucket];
            if (hits > 0 && hits >= wanted) {
                return (long) Math.ceil(largest(bucket)) + 1;
            }
        }
        return 0;
    }

    /** Other blocks that are used between two uses of one, in the median. */
    long medianDistance() {
        return Math.max(0, capacityFor(0.5) - 1);
    }

    /** Different blocks. */
    double distinct() {
        return firsts;
    }

    /** One block in so many is followed. */
    long sampledOneIn() {
        return 1L << halvings;
    }

    /** Between uses of a block; not a number if none was used twice. @param share 0.5 is the median */
    double gapSeconds(double share) {
        return gaps.getTotalCount() == 0 ? Double.NaN : gaps.getValueAtPercentile(100 * share) / 1e3;
    }

    private boolean isFollowed(long key) {
        return hash(key) >>> Long.SIZE - 1 - halvings == 0;
    }

    private static long hash(long key) {
        long mixed = (key ^ key >>> 32 ^ MIX) * MIX;               // 0, which is a key, is as good as any other
        return (mixed ^ mixed >>> 32) & Long.MAX_VALUE;
    }

    private double weight() {
        return 1L << halvings;
    }

    private int place(long key) {
        int place = (int) (hash(key) >>> 3) & keys.length - 1;
        while (times[place] != 0 && keys[place] != key) {
            place = place + 1 & keys.length - 1;
        }
        return place;
    }

    private void keepFollowed() {
        long[] oldKeys = keys;
        int[] oldTimes = times;
        long[] oldMicros = micros;
        long[] order = new long[followed];
        int count = 0;
        for (int place = 0; place < oldKeys.length; place++) {
            if (oldTimes[place] != 0 && isFollowed(oldKeys[place])) {
                order[count++] = (long) oldTimes[place] << Integer.SIZE | place;
            }
        }
        Arrays.sort(order, 0, count);
        keys = new long[oldKeys.length];
        times = new int[oldTimes.length];
        micros = new long[oldMicros.length];
        Arrays.fill(tree, 0);
        followed = count;
        now = count;
        for (int i = 0; i < count; i++) {
            int old = (int) order[i];
            int place = place(oldKeys[old]);
            keys[place] = oldKeys[old];
            times[place] = i + 1;
            micros[place] = oldMicros[old];
            add(i + 1, 1);
        }
    }

    private void add(int time, int change) {
        for (int i = time; i < tree.length; i += i & -i) {
            tree[i] += change;
        }
    }

    private int countUpTo(int time) {
        int count = 0;
        for (int i = time; i > 0; i -= i & -i) {
            count += tree[i];
        }
        return count;
    }

    private static int bucket(long distance) {
        return distance < EXACT ? (int) distance : (int) Math.min(BUCKETS - 1,
                EXACT + (long) (STEPS * (Math.log(distance) / Math.log(2) - EXACT_BITS)));
    }

    /** Largest distance in it. */
    private static double largest(int bucket) {
        return bucket < EXACT ? bucket : Math.pow(2, EXACT_BITS + (bucket - EXACT + 1.0) / STEPS);
    }
}
