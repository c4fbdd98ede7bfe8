package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.Arrays;

/**
 * One match: for all workers at once, how many leading blocks of a chain each holds.
 *
 * <p>A prefix-closed worker (D9) that holds a block holds all before it. So the holders of a chain's blocks are sets of
 * which each contains the next, and where two places have equal holders, all between them have. The search keeps the
 * places that it has looked up, in order, and looks between two neighbours only while their holders differ; in the end
 * every change of holders lies between two blocks that follow each other, both looked up.
 *
 * <pre>
 *   looked up   0                     63 64                 127 128                                255
 *   held by     abc…z              abc…z ab                 ab  nobody                          nobody
 *                 '----- equal -----'     '----- equal -----'      '----------- equal -----------'
 * </pre>
 * Which sets they are costs nothing: they are kept once by {@link HolderSets}, and equal ones are one array. So a search
 * costs as much for a thousand workers as for ten. Where SMG's index keeps runs of blocks with equal holders in a trie,
 * and Dynamo's maps by position, this one keeps neither, and finds a run by its ends alone.
 *
 * <p>A look-up is a cache miss of some 100 ns, and a core can wait for many at once: what a round may ask for is touched
 * before the first of it is read, and a round costs little more than one look-up. First, {@link Guesses} say where runs
 * with several holders ended last time, those of popular prefixes above all: a right guess spares the rounds.
 *
 * <p>An answer is one that a moment of the search could have given for the worker, since the deepest block that it was
 * seen to hold and the one after that are neighbours. A worker that says it is closed and is not gets such an answer
 * too, and costs nobody more: what it holds behind a gap is left out ({@link #between}), so that sets still shrink.
 */
final class PrefixSearch {

    /** Of a single open run: halving asks for three of seven places. Fifteen would save a round of three, and cost more. */
    private static final int PIECES = 8;
    /** Of several open runs together, or of a walk. */
    private static final int PROBES_PER_ROUND = 6;
    private static final int FIRST_PLACES = 8;
    /** That follow each other: the prompts of a service, of a team, of a task. */
    private static final int MOST_GUESSES = 4;

    private final KeyTable table;
    private final Guesses guesses;
    private final BlockHashChain chain;
    /** Number of blocks to look at. */
    private final int limit;

    /** What was looked up, ascending: of a run of places with equal holders, the first and the last. */
    private int[] places = new int[FIRST_PLACES];
    private long[][] holders = new long[FIRST_PLACES][];
    private int count;
    /** The ordinals that count. */
    private long[] workers = HolderSets.NOBODY;
    /** Mixed, of the places that a round may ask for. */
    private long[] keys = new long[PIECES];

    PrefixSearch(KeyTable table, Guesses guesses, BlockHashChain chain, int limit) {
        this.table = table;
        this.guesses = guesses;
        this.chain = chain;
        this.limit = limit;
    }

    // ---- workers that hold an unbroken run of any chain

    HolderSteps searchClosed(long[] closed) {
        if (limit <= 0 || !table.mayBeHeld(mixedKey(0))) {
            return HolderSteps.NONE;
        }
        workers = closed;
        lookFirst();
        int open = openCount();
        if (open == 0) {
            return steps();
        }
        for (; open > 0; open = openCount()) {
            if (open == 1) {
                halve();
            } else {
                narrow(open);
            }
        }
        learn();
        return steps();
    }

    /** Looks the first and the last block up and, together with them, where a run has ended last time. */
    private void lookFirst() {
        keys[0] = mixedKey(0);
        keys[1] = mixedKey(limit - 1);
        int end = guessedEnd(0);
        table.touch(keys, end > 0 ? 4 : 2);
        long[] run = table.holders(keys[0]);
        if (isNobody(run)) {
            return;
        }
        append(0, run);
        long[] last = between(run, table.holders(keys[1]), HolderSets.NOBODY);
        for (int i = 0; end > 0 && run != last && i < MOST_GUESSES; i++) {
            append(end - 1, between(run, table.holders(keys[2]), last));
            run = between(holders[count - 1], table.holders(keys[3]), last);
            append(end, run);
            end = guessedEnd(end);
        }
        append(limit - 1, last);
    }

    /** The block where the run that begins here may end, its key and that of the one before being made; 0 if unknown. */
    private int guessedEnd(int from) {
        int end = from + guesses.of(mixedKey(from));
        if (end == from || end >= limit - 1) {
            return 0;
        }
        keys[2] = mixedKey(end - 1);
        keys[3] = mixedKey(end);
        return end;
    }

    private int openCount() {
        int open = 0;
        for (int i = 0; i < count - 1; i++) {
            open += isOpen(i) ? 1 : 0;
        }
        return open;
    }

    /** Whether somebody ends behind this place and, as far as is known, not at the next one. */
    private boolean isOpen(int i) {
        return holders[i] != holders[i + 1] && places[i + 1] - places[i] > 1;
    }

    /** Ends the only open run by halving, unless there are others between its ends. */
    private void halve() {
        int at = 0;
        while (!isOpen(at)) {
            at++;
        }
        long[] left = holders[at];
        long[] right = holders[at + 1];
        int from = places[at];
        int to = places[at + 1];
        long[] found = left;
        while (to - from > 1 && (found == left || found == right)) {
            int length = to - from;
            int pieces = Math.min(PIECES, length);
            for (int p = 1; p < pieces; p++) {
                keys[p - 1] = mixedKey(from + length * p / pieces);
            }
            table.touch(keys, pieces - 1);
            int low = 0;
            int high = pieces;
            while (high - low > 1 && (found == left || found == right)) {
                int middle = (low + high) >>> 1;
                found = between(left, table.holders(keys[middle - 1]), right);
                if (found == left) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            to = from + length * high / pieces;
            from += length * low / pieces;
        }
        if (from > places[at]) {
            insert(++at, from, left);
        }
        if (to < places[at + 1]) {
            insert(at + 1, to, found == left ? right : found);
        }
    }

    /** A round for all open runs together. */
    private void narrow(int open) {
        int share = Math.max(1, PROBES_PER_ROUND / open);
        touchOpen(share, open);
        int[] before = places;
        long[][] heldBefore = holders;
        int placesBefore = count;
        places = new int[placesBefore + open * share];
        holders = new long[places.length][];
        count = 0;
        int key = 0;
        for (int i = 0; i < placesBefore; i++) {
            append(before[i], heldBefore[i]);
            int length = i + 1 < placesBefore && heldBefore[i] != heldBefore[i + 1] ? before[i + 1] - before[i] : 1;
            int probes = Math.min(share, length - 1);
            for (int p = 1; p <= probes; p++) {
                append(before[i] + probe(length, p, probes),
                        between(holders[count - 1], table.holders(keys[key++]), heldBefore[i + 1]));
            }
        }
    }

    private void touchOpen(int share, int open) {
        keys = keys.length < open * share ? new long[open * share] : keys;
        int key = 0;
        for (int i = 0; i < count - 1; i++) {
            int length = holders[i] != holders[i + 1] ? places[i + 1] - places[i] : 1;
            int probes = Math.min(share, length - 1);
            for (int p = 1; p <= probes; p++) {
                keys[key++] = mixedKey(places[i] + probe(length, p, probes));
            }
        }
        table.touch(keys, key);
    }

    private static int probe(int length, int p, int probes) {
        return (int) ((long) length * p / (probes + 1));
    }

    /**
     * The holders of a place between two others. Of closed workers they are what was found: one of two arrays if
     * nobody ends on that side. A worker with a gap, which is not closed, is put to where the sets shrink nevertheless;
     * ordinals that no match sees are left out of account.
     */
    private long[] between(long[] left, long[] found, long[] right) {
        if (found == left || found == right) {
            return found;
        }
        long notLeft = 0;
        long notRight = 0;
        long gaps = 0;
        for (int i = 0; i < workers.length; i++) {
            long here = word(found, i);
            long before = word(left, i);
            long behind = word(right, i);
            notLeft |= (here ^ before) & workers[i];
            notRight |= (here ^ behind) & workers[i];
            gaps |= (here & ~before | behind & ~here) & workers[i];
        }
        if (notLeft == 0) {
            return left;
        }
        if (notRight == 0) {
            return right;
        }
        return gaps == 0 ? found : withoutGaps(left, found, right);
    }

    private long[] withoutGaps(long[] left, long[] found, long[] right) {
        long[] shrinking = new long[workers.length];
        for (int i = 0; i < shrinking.length; i++) {
            shrinking[i] = (word(found, i) & word(left, i) | word(right, i)) & workers[i];
        }
        return between(left, shrinking, right);
    }

    private boolean isNobody(long[] set) {
        long any = 0;
        for (int i = 0; i < Math.min(workers.length, set.length); i++) {
            any |= set[i] & workers[i];
        }
        return any == 0;
    }

    private static long word(long[] set, int i) {
        return i < set.length ? set[i] : 0;
    }

    private void append(int place, long[] held) {
        if (count > 0 && place <= places[count - 1]) {
            return;                                                // a run of one block, whose first is its last
        }
        if (count > 1 && holders[count - 1] == held && holders[count - 2] == held) {
            count--;
        }
        insert(count, place, held);
    }

    private void insert(int at, int place, long[] held) {
        if (count == places.length) {
            places = Arrays.copyOf(places, 2 * count);
            holders = Arrays.copyOf(holders, 2 * count);
        }
        System.arraycopy(places, at, places, at + 1, count - at);
        System.arraycopy(holders, at, holders, at + 1, count - at);
        places[at] = place;
        holders[at] = held;
        count++;
    }

    /** Keeps for the next search where the first runs with several holders ended. */
    private void learn() {
        int first = 0;
        for (int i = 0, runs = 0; i < count - 1 && runs < MOST_GUESSES; i++) {
            if (holders[i] != holders[i + 1]) {
                if (isSeveral(holders[i])) {
                    guesses.remember(mixedKey(places[first]), places[i + 1] - places[first]);
                }
                first = i + 1;
                runs++;
            }
        }
    }

    private static boolean isSeveral(long[] set) {
        int members = 0;
        for (long word : set) {
            members += Long.bitCount(word);
        }
        return members > 1;
    }

    /** The ends of all runs but one that nobody holds. Takes the places for them: the search is over. */
    private HolderSteps steps() {
        int steps = 0;
        for (int i = 0; i < count; i++) {
            if (i == count - 1 ? holders[i] != HolderSets.NOBODY : holders[i] != holders[i + 1]) {
                places[steps] = places[i] + 1;
                holders[steps] = holders[i];
                steps++;
            }
        }
        return steps == 0 ? HolderSteps.NONE : new HolderSteps(places, holders, steps);
    }

    // ---- workers that may hold a block without those before it

    HolderSteps walk(long[] walked) {
        workers = walked;
        if (limit <= 0 || isNobody(walked) || !table.mayBeHeld(mixedKey(0))) {
            return HolderSteps.NONE;
        }
        count = 0;
        places = new int[FIRST_PLACES];
        holders = new long[FIRST_PLACES][];
        long[] held = walked;
        for (int block = 0; block < limit; block++) {
            if (block % PROBES_PER_ROUND == 0) {
                touchFrom(block);
            }
            long[] still = between(held, table.holders(keys[block % PROBES_PER_ROUND]), HolderSets.NOBODY);
            if (block > 0 && still != held) {
                insert(count, block, held);
            }
            held = still;
            if (held == HolderSets.NOBODY) {
                break;
            }
        }
        if (held != HolderSets.NOBODY) {
            insert(count, limit, held);
        }
        return count == 0 ? HolderSteps.NONE : new HolderSteps(places, holders, count);
    }

    private void touchFrom(int block) {
        int probes = Math.min(PROBES_PER_ROUND, limit - block);
        for (int p = 0; p < probes; p++) {
            keys[p] = mixedKey(block + p);
        }
        table.touch(keys, probes);
    }

    private long mixedKey(int block) {
        return KeySetDigest.mix(chain.key(block));
    }
}
