package dev.warmpath.workload;

import java.util.Arrays;

/**
 * A prompt as a run of numbered pieces. Two prompts whose first pieces have the same numbers begin with the same
 * tokens; the last piece may be cut.
 *
 * <p>Tokens are made when they are needed: a piece is its number in digits of 24, then zeros. Small tokens are hashed
 * soonest, and no two numbers make the same piece. A piece of an answer is what workers draw.
 *
 * @param pieces      numbers from 0, or {@link #ANSWER}; never written
 * @param pieceTokens tokens of a piece, at least {@value #DIGITS}
 * @param length      in tokens, more than the pieces before the last one have, and no more than all
 */
public record Prompt(long[] pieces, int pieceTokens, int length) {

    /** Every token is below it. */
    public static final int VOCABULARY = 25;
    /** What workers draw; in no prompt. */
    public static final int ANSWER_TOKEN = 24;
    /** The number of a piece that a worker has drawn. */
    public static final long ANSWER = -1;
    static final int DIGITS = 12;
    /** Fewest tokens of a piece. */
    public static final int SMALLEST_PIECE = DIGITS;
    private static final int BASE = 24;
    /** How many numbers pieces can have: {@value #BASE} to the {@value #DIGITS}th; two of the same rest are one. */
    public static final long PIECES = 36_520_347_436_056_576L;

    public Prompt {
        if (pieceTokens < DIGITS || length < 1 || length > (long) pieces.length * pieceTokens
                || length <= (pieces.length - 1L) * pieceTokens) {
            throw new IllegalArgumentException(
                    length + " tokens in " + pieces.length + " pieces of " + pieceTokens);
        }
    }

    /** Of a piece. @param place in it, from 0 */
    static int token(long piece, int place) {
        if (piece == ANSWER) {
            return ANSWER_TOKEN;
        }
        long rest = piece;
        for (int i = 0; i < place && rest != 0; i++) {
            rest /= BASE;
        }
        return place < DIGITS ? (int) (rest % BASE) : 0;
    }

    /** A copy each time, which belongs to the caller. */
    public int[] tokens() {
        int[] tokens = new int[length];
        for (int piece = 0; piece < pieces.length; piece++) {
            long rest = pieces[piece];
            int first = piece * pieceTokens;
            if (rest == ANSWER) {
                Arrays.fill(tokens, first, Math.min(first + pieceTokens, length), ANSWER_TOKEN);
                continue;
            }
            for (int i = first; i < Math.min(first + DIGITS, length); i++) {
                tokens[i] = (int) (rest % BASE);
                rest /= BASE;
            }
        }
        return tokens;
    }
}
