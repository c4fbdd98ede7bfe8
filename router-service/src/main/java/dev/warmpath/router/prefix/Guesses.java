package dev.warmpath.router.prefix;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How many blocks with equal holders followed a block the last time somebody looked: where to look first. A guess may
 * be wrong, another block's or gone; whoever asks looks the blocks up. Any number of threads, and none waits: of two
 * guesses for one place, the later stays.
 *
 * <pre>
 *   | mixed key, upper 44 bits | block count, 20 bits |      at the place that the key's lower 12 bits say
 * </pre>
 */
final class Guesses {

    static final int NO_GUESS = 0;
    private static final VarHandle PLACE = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int PLACES = 1 << 12;
    private static final long BLOCK_COUNT = (1 << 20) - 1;

    private final long[] places = new long[PLACES];

    /** Number of blocks, that of the mixed key included; or {@link #NO_GUESS}. */
    int of(long key) {
        long guess = (long) PLACE.getOpaque(places, placeOf(key));
        return ((guess ^ key) & ~BLOCK_COUNT) == 0 ? (int) (guess & BLOCK_COUNT) : NO_GUESS;
    }

    void remember(long key, int blockCount) {
        if (blockCount <= BLOCK_COUNT) {
            PLACE.setOpaque(places, placeOf(key), key & ~BLOCK_COUNT | blockCount);
        }
    }

    private static int placeOf(long key) {
        return (int) key & (PLACES - 1);
    }
}
