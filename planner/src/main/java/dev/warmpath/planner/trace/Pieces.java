package dev.warmpath.planner.trace;

import dev.warmpath.workload.Prompt;
import java.util.function.IntUnaryOperator;

/**
 * Numbers of pieces by their content and all that is before them: equal numbers are equal whole beginnings. Of 24^12
 * numbers, so that among ten million different pieces two are taken for one in one of 700 files, and then a request's
 * prompt seems to begin as another's.
 */
final class Pieces {

    private static final long MIX = 0x9e3779b97f4a7c15L;
    private static final long MIX_AGAIN = 0xbf58476d1ce4e5b9L;

    private Pieces() {}

    /** @param length in units. @param unitsPerPiece how many a piece has; the last one may have fewer */
    static long[] chained(int length, int unitsPerPiece, IntUnaryOperator unit) {
        long[] pieces = new long[Math.ceilDiv(length, unitsPerPiece)];
        long chain = 0;
        for (int piece = 0; piece < pieces.length; piece++) {
            int end = Math.min(length, (piece + 1) * unitsPerPiece);
            for (int i = piece * unitsPerPiece; i < end; i++) {
                chain = (chain ^ unit.applyAsInt(i)) * MIX;
                chain ^= chain >>> 29;
            }
            pieces[piece] = number(chain + end - (long) piece * unitsPerPiece);
        }
        return pieces;
    }

    /** Of a key that is chained already. */
    static long number(long key) {
        long mixed = (key ^ key >>> 31) * MIX_AGAIN;
        return Long.remainderUnsigned(mixed ^ mixed >>> 27, Prompt.PIECES);
    }
}
