package dev.warmpath.planner.load;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.PriorityQueue;

/**
 * What share of a load's full blocks caches could find, whatever the routing: one cache for all workers, of as much
 * memory as they have together.
 *
 * @param endless     with memory for everything
 * @param clairvoyant that keeps what will be used soonest (Belady, "A study of replacement algorithms for a
 *                    virtual-storage computer", 1966); none of the same size finds more
 * @param oneCache    that keeps what was used last, as workers do
 */
public record Bounds(double endless, double clairvoyant, double oneCache) {

    private static final int NEVER = Integer.MAX_VALUE;

    /** @param capacity of the one cache in blocks, at least 1 */
    public static Bounds of(Survey.Uses uses, long fullBlocks, long capacity) {
        int[] next = nextUses(uses);
        return new Bounds((double) foundEndless(uses) / fullBlocks,
                (double) foundClairvoyant(uses, next, capacity) / fullBlocks,
                (double) foundByLastUse(uses, capacity) / fullBlocks);
    }

    private static int[] nextUses(Survey.Uses uses) {
        int[] next = new int[uses.blocks().length];
        int[] following = new int[uses.distinct()];
        Arrays.fill(following, NEVER);
        for (int i = next.length - 1; i >= 0; i--) {
            next[i] = following[uses.blocks()[i]];
            following[uses.blocks()[i]] = i;
        }
        return next;
    }

    private static long foundEndless(Survey.Uses uses) {
        var seen = new BitSet(uses.distinct());
        long found = 0;
        int begin = 0;
        for (int request = 0; request < uses.ends().length; request++) {
            found += leading(uses, request, begin, seen);
            for (; begin < uses.ends()[request]; begin++) {
                seen.set(uses.blocks()[begin]);
            }
        }
        return found;
    }

    /**
     * A block's ancestors are used whenever it is, and before it, so they are never thrown out first: what is kept is
     * whole beginnings.
     */
    private static long foundClairvoyant(Survey.Uses uses, int[] next, long capacity) {
        var held = new BitSet(uses.distinct());
        int[] nextOf = new int[uses.distinct()];
        // by their next uses, the latest first; a use whose block has moved on is passed over
        var latest = new PriorityQueue<Integer>(1 << 10, Collections.reverseOrder());
        long found = 0;
        long size = 0;
        int begin = 0;
        for (int request = 0; request < uses.ends().length; request++) {
            found += leading(uses, request, begin, held);
            for (; begin < uses.ends()[request]; begin++) {
                int block = uses.blocks()[begin];
                size += held.get(block) ? 0 : 1;
                held.set(block);
                nextOf[block] = next[begin];
                if (next[begin] == NEVER) {
                    held.clear(block);
                    size--;
                } else {
                    latest.add(next[begin]);
                }
            }
            while (size > capacity) {
                int use = latest.remove();
                int block = uses.blocks()[use];
                if (held.get(block) && nextOf[block] == use) {
                    held.clear(block);
                    size--;
                }
            }
        }
        return found;
    }

    /** Of one request's blocks the last ones go first, as in a worker. */
    private static long foundByLastUse(Survey.Uses uses, long capacity) {
        var order = new LinkedHashMap<Integer, Boolean>(1 << 10, 0.75f, /* by access */ true);
        var held = new BitSet(uses.distinct());
        long found = 0;
        int begin = 0;
        for (int request = 0; request < uses.ends().length; request++) {
            found += leading(uses, request, begin, held);
            int end = uses.ends()[request];
            for (int i = end - 1; i >= begin; i--) {
                order.put(uses.blocks()[i], true);
                held.set(uses.blocks()[i]);
            }
            begin = end;
            while (order.size() > capacity) {
                held.clear(order.pollFirstEntry().getKey());
            }
        }
        return found;
    }

    private static int leading(Survey.Uses uses, int request, int begin, BitSet held) {
        int most = Math.min(uses.matchable()[request], uses.ends()[request] - begin);
        int found = 0;
        while (found < most && held.get(uses.blocks()[begin + found])) {
            found++;
        }
        return found;
    }
}
