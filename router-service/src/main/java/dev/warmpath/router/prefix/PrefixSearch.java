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
 * To compare them costs nothing: they are kept once by {@link HolderSets}, and equal ones are one array. So a search
 * costs as much for a thousand workers as for ten. SMG's index keeps the runs of blocks with equal holders themselves,
 * in a trie, and Dynamo's keeps maps by position, to which events bring parents or positions; this one keeps keys only,
 * in far less memory, and finds a run by its ends.
 *
 * <p>A look-up is a cache miss of 100 to 300 ns, and a core can wait for many at once: what a round may ask for is
 * touched before the first of it is read, and a round costs little more than one look-up. Most searches are one round:
 * where nobody holds anything any more is found before by {@link Occupancy} alone, and {@link Guesses} say where runs
 * with several holders ended last time, those of popular prefixes above all. Both are looked up, neither is believed.
 *
 * <p>An answer is one that a moment of the search could have given for the worker, since the deepest block that it was
 * seen to hold and the one after that are neighbours. A worker that says it is closed and is not gets such an answer
 * too, and costs nobody more: what it holds behind a gap is left out ({@link #between}), so that sets still shrink.
 */
final class PrefixSearch {

    /** Of a single open run: halving asks for three of seven places. */
    private static final int PIECES = 8;
    /** Looks at the occupancy are cheap: 23 at a time find an end in 256 blocks in two rounds. Not beyond 32. */
    private static final int OCCUPANCY_PIECES = 24;
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
    private long[] keys = new long[3 + 2 * MOST_GUESSES];
    /** Where guesses say that runs begin, the first one left out. */
    private final int[] guessed = new int[MOST_GUESSES];

    PrefixSearch(KeyTable table, Guesses guesses, BlockHashChain chain, int limit) {
        this.table = table;
        this.guesses = guesses;
        this.chain = chain;
        this.limit = limit;
    }

    // ---- workers that hold an unbroken run of any chain

    HolderSteps searchClosed(long[] closed) {
        if (limit <= 0) {
            return HolderSteps.NONE;
        }
        workers = closed;
        lookFirst();
        for (int open = openCount(); open > 0; open = openCount()) {
            if (open == 1) {
                narrowOne();
            } else {
                narrow(open);
            }
        }
        learn();
        return steps();
    }

    /**
     * By the occupancy alone, finds what is likely to be the last block that anybody holds. Then looks that one up, and
     * the first, and both sides of where runs have ended last time, all together.
     */
    private void lookFirst() {
        int guessCount = guess();
        int end = absentFrom(guessCount);
        if (end == 0) {
            return;
        }
        while (guessCount > 0 && guessed[guessCount - 1] >= end - 1) {
            guessCount--;
        }
        int beforeLast = 2 + 2 * guessCount;
        keys[1] = mixedKey(end - 1);
        keys[beforeLast] = mixedKey(Math.max(0, end - 2));
        table.touch(keys, 0, beforeLast + 1);
        long[] run = table.holders(keys[0]);
        if (isNobody(run)) {
            return;
        }
        append(0, run);
        long[] last = between(run, table.holders(keys[1]), HolderSets.NOBODY);
        for (int i = 0; i < guessCount && run != last; i++) {
            append(guessed[i] - 1, between(run, table.holders(keys[2 + 2 * i]), last));
            run = between(holders[count - 1], table.holders(keys[3 + 2 * i]), last);
            append(guessed[i], run);
        }
        if (run != last) {
            append(end - 2, between(run, table.holders(keys[beforeLast]), last));
        }
        append(end - 1, last);
        if (end < limit) {
            append(end, HolderSets.NOBODY);
        }
    }

    /** Follows the guesses from the first block on. Makes the keys of it, of the last and of both sides of each. */
    private int guess() {
        keys[0] = mixedKey(0);
        keys[1] = mixedKey(limit - 1);
        int guessCount = 0;
        int from = 0;
        int length = guesses.of(keys[0]);
        while (length != Guesses.NO_GUESS && from + length < limit && guessCount < MOST_GUESSES) {
            from += length;
            guessed[guessCount] = from;
            keys[2 + 2 * guessCount] = mixedKey(from - 1);
            keys[3 + 2 * guessCount] = mixedKey(from);
            length = guesses.of(keys[3 + 2 * guessCount]);
            guessCount++;
        }
        return guessCount;
    }

    /** The block behind the last one that may be held; 0 if even the first is not. */
    private int absentFrom(int guessCount) {
        int mayBeHeld = table.mayBeHeld(keys, 2 + 2 * guessCount);
        if ((mayBeHeld & 1) == 0) {
            return 0;
        }
        if ((mayBeHeld & 2) != 0) {
            return limit;
        }
        int from = 0;
        int to = limit - 1;
        for (int i = 0; i < guessCount && to == limit - 1; i++) {
            int sides = mayBeHeld >>> 2 + 2 * i & 3;
            if (sides == 3) {
                from = guessed[i];
            } else {
                to = guessed[i] - 1 + (sides & 1);
                from = sides == 1 ? to - 1 : from;
            }
        }
        return absentFrom(from, to);
    }

    /**
     * Between a block that may be held and one that is not, the first one that is not. Seldom a later one: a block that
     * seems to be held and is not misleads no further than its neighbour does, for each round begins at that.
     */
    private int absentFrom(int mayBeHeld, int isNot) {
        int from = mayBeHeld;
        int to = isNot;
        long[] probes = new long[OCCUPANCY_PIECES - 1];
        while (true) {
            int pieces = Math.min(OCCUPANCY_PIECES, to - from);
            for (int p = 1; p < pieces; p++) {
                probes[p - 1] = mixedKey(piece(from, to, p, pieces));
            }
            int held = Integer.numberOfTrailingZeros(~table.mayBeHeld(probes, pieces - 1));
            if (pieces == to - from) {
                return from + held + 1;
            }
            int end = piece(from, to, held + 1, pieces);
            from = piece(from, to, Math.max(0, held - 1), pieces);
            to = end;
        }
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

    private void narrowOne() {
        int at = 0;
        while (!isOpen(at)) {
            at++;
        }
        if (holders[at + 1] == HolderSets.NOBODY) {
            findEnd(at);
        } else {
            halve(at);
        }
    }

    /** Behind the run nobody holds anything: once more by the occupancy, without the key that misled it. */
    private void findEnd(int at) {
        int end = absentFrom(places[at], places[at + 1]);
        long[] last = between(holders[at], table.holders(mixedKey(end - 1)), HolderSets.NOBODY);
        if (end < places[at + 1]) {
            insert(at + 1, end, HolderSets.NOBODY);
        }
        if (end - 1 > places[at]) {
            insert(at + 1, end - 1, last);
        }
        if (last == HolderSets.NOBODY && isOpen(at)) {
            halve(at);                                             // the keys are there, for nobody who counts
        }
    }

    /** Ends a run by halving, whose next three questions are touched together, unless there are others between. */
    private void halve(int at) {
        long[] left = holders[at];
        long[] right = holders[at + 1];
        long[] found = left;
        int from = places[at];
        int to = places[at + 1];
        while (to - from > 1 && (found == left || found == right)) {
            int pieces = Math.min(PIECES, to - from);
            for (int p = 1; p < pieces; p++) {
                keys[p - 1] = mixedKey(piece(from, to, p, pieces));
            }
            table.touch(keys, 0, pieces - 1);
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
            int end = piece(from, to, high, pieces);
            from = piece(from, to, low, pieces);
            to = end;
        }
        close(at, from, to, found == left ? right : found);
    }

    private static int piece(int from, int to, int p, int pieces) {
        return from + (int) ((long) (to - from) * p / pieces);
    }

    /** The run that begins here goes to {@code from} at least, and others hold {@code to}. */
    private void close(int at, int from, int to, long[] holdersOfTo) {
        int last = at;
        if (from > places[at]) {
            last = at + 1;
            insert(last, from, holders[at]);
        }
        if (to < places[last + 1]) {
            insert(last + 1, to, holdersOfTo);
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
        table.touch(keys, 0, key);
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
                long key = mixedKey(places[first]);
                int length = places[i + 1] - places[first];
                if (guesses.of(key) != length && isSeveral(holders[i])) {
                    guesses.remember(key, length);
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
        table.touch(keys, 0, probes);
    }

    private long mixedKey(int block) {
        return KeySetDigest.mix(chain.key(block));
    }
}
