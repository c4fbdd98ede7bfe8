package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySetDigest;

/**
 * One match: for many workers at once, how many leading blocks of a chain each holds.
 *
 * <p>A prefix-closed worker (D9) that holds a block holds all before it. So the first and the last block are looked up,
 * and whoever holds both holds all. The others end somewhere between: a stretch of the chain with the workers that end
 * inside. Each round looks several blocks of every stretch up and splits it; where nobody ends, nobody looks again.
 *
 * <pre>
 *   block       0 . . . . m1 . . . . m2 . . . . n-1
 *   held by   a b c      a b         b          -
 *             '--- c ----'--- a -----'--- b -----'      one stretch with three workers becomes three with one
 * </pre>
 * A look-up is a cache miss of some 100 ns, and a core can wait for many at once: a round costs little more than one.
 * Hence more probes and fewer rounds than halving would take: six a round find a depth in 256 blocks in three rounds
 * instead of eight. Sixteen would do it in two, but a probe costs some 25 ns even in the cache, and took 1.6 times as
 * long in all. Where a single worker ends, the commonest case, seven blocks a round are fetched and only the three that
 * halving asks for are looked up.
 */
final class PrefixSearch {

    private static final int PROBES_PER_ROUND = 6;
    private static final int PIECES = 8;

    private final KeyTable table;
    private final BlockHashChain chain;
    private final int words;
    private final int[] blocks;

    /** @param words of a set of ordinals */
    PrefixSearch(KeyTable table, BlockHashChain chain, int words) {
        this.table = table;
        this.chain = chain;
        this.words = words;
        this.blocks = new int[words * Long.SIZE];
    }

    /** Leading blocks by ordinal, as found so far; not written again once the search is over. */
    int[] blocks() {
        return blocks;
    }

    /** Stretches of the chain in which workers end. They hold block {@code from} and do not hold block {@code to}. */
    private static final class Stretches {
        final int[] from;
        final int[] to;
        final long[] workers;
        int count;

        Stretches(int most, int words) {
            from = new int[most];
            to = new int[most];
            workers = new long[most * words];
        }
    }

    /**
     * Workers that hold an unbroken run of any chain.
     *
     * @param limit blocks to look at, at least one
     */
    void searchClosed(long[] workers, int limit) {
        long[] keys = {mixedKey(0), mixedKey(limit - 1)};
        long[] found = new long[2 * words];
        table.holders(keys, 2, found, words);
        int unresolved = 0;
        for (int i = 0; i < words; i++) {
            long first = workers[i] & found[i];
            settle(i, first & found[words + i], limit);
            found[i] = first & ~found[words + i];
            unresolved += Long.bitCount(found[i]);
        }
        if (unresolved == 1) {
            searchOne(first(found), limit - 1);
        } else if (unresolved > 1) {
            var stretches = new Stretches(unresolved, words);
            add(stretches, 0, limit - 1, found, 0);
            narrow(stretches, unresolved);
        }
    }

    /**
     * The commonest search: one worker holds block 0 and not block {@code last}. By halving, whose next three questions
     * are touched together: 8 look-ups in 3 rounds find a depth in 256 blocks.
     */
    private void searchOne(int ordinal, int last) {
        int from = 0;
        int to = last;
        long[] keys = new long[PIECES - 1];
        while (to - from > 1) {
            int length = to - from;
            int pieces = Math.min(PIECES, length);
            for (int p = 1; p < pieces; p++) {
                keys[p - 1] = mixedKey(from + length * p / pieces);
            }
            table.touch(keys, pieces - 1);
            int low = 0;
            int high = pieces;
            while (high - low > 1) {
                int middle = (low + high) >>> 1;
                if (table.isHeldBy(keys[middle - 1], ordinal)) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            to = from + length * high / pieces;
            from += length * low / pieces;
        }
        blocks[ordinal] = to;
    }

    /** The lowest ordinal of a set that is not empty. */
    private static int first(long[] ordinals) {
        int word = 0;
        while (ordinals[word] == 0) {
            word++;
        }
        return word * Long.SIZE + Long.numberOfTrailingZeros(ordinals[word]);
    }

    private void narrow(Stretches first, int most) {
        Stretches now = first;
        var next = new Stretches(most, words);
        int mostProbes = Math.max(PROBES_PER_ROUND, most);
        long[] keys = new long[mostProbes];
        long[] found = new long[mostProbes * words];
        while (now.count > 0) {
            int share = Math.max(1, PROBES_PER_ROUND / now.count);
            table.holders(keys, choose(now, share, keys), found, words);
            split(now, share, found, next);
            Stretches done = now;
            now = next;
            next = done;
            next.count = 0;
        }
    }

    /** The keys of the blocks that a round looks up. @return how many */
    private int choose(Stretches stretches, int share, long[] keys) {
        int count = 0;
        for (int s = 0; s < stretches.count; s++) {
            int probes = probes(stretches, s, share);
            for (int p = 1; p <= probes; p++) {
                keys[count++] = mixedKey(probe(stretches, s, p, probes));
            }
        }
        return count;
    }

    private void split(Stretches stretches, int share, long[] found, Stretches next) {
        int at = 0;
        for (int s = 0; s < stretches.count; s++) {
            int probes = probes(stretches, s, share);
            int from = stretches.from[s];
            for (int p = 1; p <= probes; p++, at += words) {
                int block = probe(stretches, s, p, probes);
                for (int i = 0; i < words; i++) {
                    long here = stretches.workers[s * words + i];
                    stretches.workers[s * words + i] = here & found[at + i];
                    found[at + i] = here & ~found[at + i];
                }
                add(next, from, block, found, at);
                from = block;
            }
            add(next, from, stretches.to[s], stretches.workers, s * words);
        }
    }

    private static int probes(Stretches stretches, int s, int share) {
        return Math.min(share, stretches.to[s] - stretches.from[s] - 1);
    }

    private static int probe(Stretches stretches, int s, int p, int probes) {
        return stretches.from[s] + (int) ((long) (stretches.to[s] - stretches.from[s]) * p / (probes + 1));
    }

    /** A stretch without a block inside is an answer, one without workers no question. */
    private void add(Stretches stretches, int from, int to, long[] workers, int at) {
        long any = 0;
        for (int i = 0; i < words; i++) {
            any |= workers[at + i];
            if (to - from == 1) {
                settle(i, workers[at + i], to);
            }
        }
        if (any != 0 && to - from > 1) {
            stretches.from[stretches.count] = from;
            stretches.to[stretches.count] = to;
            System.arraycopy(workers, at, stretches.workers, stretches.count * words, words);
            stretches.count++;
        }
    }

    /** Workers that may hold a block without those before it. */
    void walk(long[] workers, int limit) {
        if (isEmpty(workers)) {
            return;
        }
        long[] held = workers.clone();
        long[] keys = new long[PROBES_PER_ROUND];
        long[] found = new long[PROBES_PER_ROUND * words];
        for (int block = 0; block < limit && !isEmpty(held); block += PROBES_PER_ROUND) {
            int probes = Math.min(PROBES_PER_ROUND, limit - block);
            for (int p = 0; p < probes; p++) {
                keys[p] = mixedKey(block + p);
            }
            table.holders(keys, probes, found, words);
            for (int i = 0; i < words; i++) {
                for (int p = 0; p < probes && held[i] != 0; p++) {
                    held[i] &= found[p * words + i];
                    settle(i, held[i], block + p + 1);
                }
            }
        }
    }

    private static boolean isEmpty(long[] workers) {
        long any = 0;
        for (long word : workers) {
            any |= word;
        }
        return any == 0;
    }

    private void settle(int word, long workers, int held) {
        for (long rest = workers; rest != 0; rest &= rest - 1) {
            blocks[word * Long.SIZE + Long.numberOfTrailingZeros(rest)] = held;
        }
    }

    private long mixedKey(int block) {
        return KeySetDigest.mix(chain.key(block));
    }
}
