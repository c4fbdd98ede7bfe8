package dev.warmpath.tokenization.bpe;

/**
 * Byte pair encoding of one word: of all neighbours that have a merge, those of the least rank become one, the leftmost
 * first, until none is left [Sennrich, Haddow and Birch, 2016]. One thread; memory is kept from word to word.
 *
 * <p>A short word is scanned for its least rank each time; the square of so few is little. In a long one the pairs wait
 * in a heap, and a chain of places says who is whose neighbour: n log n, where the scan would take a word of megabytes
 * for hours.
 */
final class Merger {
    /** Up to here the scan is as fast as the heap. */
    static final int SHORT_BYTES = 64;

    private final MergeTable merges;
    private final Alphabet alphabet;

    /** By place: the id there. */
    private int[] ids = new int[SHORT_BYTES];
    /** By place: the merge of the id there with its right neighbour, or {@link MergeTable#NONE}. */
    private long[] pairs = new long[SHORT_BYTES];
    private final Chain chain = new Chain();
    private long steps;

    Merger(MergeTable merges, Alphabet alphabet) {
        this.merges = merges;
        this.alphabet = alphabet;
    }

    /** Adds the ids of the word {@code text[from, to)}, of one byte or more. */
    void merge(byte[] text, int from, int to, TokenIds out) {
        if (to - from > ids.length) {
            ids = new int[to - from];
            pairs = new long[to - from];
        }
        int count = alphabet.spell(text, from, to, ids);
        for (int i = 0; i + 1 < count; i++) {
            pairs[i] = merges.find(ids[i], ids[i + 1]);
        }
        out.addAll(ids, 0, count <= SHORT_BYTES ? mergeByScan(count) : chain.mergeByHeap(count));
    }

    /** How many pairs were looked at so far: what time grows with. */
    long steps() {
        return steps;
    }

    private int mergeByScan(int size) {
        int count = size;
        while (count > 1) {
            int best = 0;
            for (int i = 1; i + 1 < count; i++) {
                best = pairs[i] < pairs[best] ? i : best;
            }
            steps += count;
            if (pairs[best] == MergeTable.NONE) {
                break;
            }
            count--;
            ids[best] = MergeTable.id(pairs[best]);
            System.arraycopy(ids, best + 2, ids, best + 1, count - best - 1);
            System.arraycopy(pairs, best + 1, pairs, best, count - best - 1);
            if (best > 0) {
                pairs[best - 1] = merges.find(ids[best - 1], ids[best]);
            }
            if (best + 1 < count) {
                pairs[best] = merges.find(ids[best], ids[best + 1]);
            }
        }
        return count;
    }

    /** The places of a long word, and the pairs that wait to be merged. */
    private final class Chain {
        private static final int END = -1;

        private int[] next = {};
        private int[] previous = {};
        private final RankHeap heap = new RankHeap();

        /** A place whose pair changed waits in the heap more than once; only the entry of its present rank counts. */
        int mergeByHeap(int count) {
            link(count);
            for (long entry = heap.poll(); entry != RankHeap.EMPTY; entry = heap.poll()) {
                int place = RankHeap.place(entry);
                steps++;
                if (pairs[place] != MergeTable.NONE && MergeTable.rank(pairs[place]) == RankHeap.rank(entry)) {
                    join(place);
                }
            }
            return compact();
        }

        private void link(int count) {
            next = new int[count];
            previous = new int[count];
            heap.clear(count);
            for (int i = 0; i < count; i++) {
                previous[i] = i - 1;
                next[i] = i + 1 < count ? i + 1 : END;
                if (i + 1 < count) {
                    offer(i);
                }
            }
            pairs[count - 1] = MergeTable.NONE;
        }

        private void offer(int place) {
            if (pairs[place] != MergeTable.NONE) {
                heap.add(MergeTable.rank(pairs[place]), place);
            }
        }

        private void join(int place) {
            int gone = next[place];
            ids[place] = MergeTable.id(pairs[place]);
            pairs[gone] = MergeTable.NONE;
            next[place] = next[gone];
            if (next[place] != END) {
                previous[next[place]] = place;
            }
            pair(place);
            if (previous[place] != END) {
                pair(previous[place]);
            }
        }

        private void pair(int place) {
            pairs[place] = next[place] == END ? MergeTable.NONE : merges.find(ids[place], ids[next[place]]);
            offer(place);
        }

        private int compact() {
            int count = 0;
            for (int place = 0; place != END; place = next[place]) {
                ids[count++] = ids[place];
            }
            next = new int[] {};
            previous = next;
            return count;
        }
    }
}
