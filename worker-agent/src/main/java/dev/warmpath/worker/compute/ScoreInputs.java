package dev.warmpath.worker.compute;

/**
 * What is to be told of rows of logits; allocated once and rewritten by each step that asks.
 * @param targets I32 [rows, 1]; the token whose likelihood is wanted, which the caller has checked, or
 *                {@link #NO_TARGET}
 * @param counts  I32 [rows, 1]; how many of the likeliest tokens are wanted, 0 to
 *                {@link ScoredTokens#MOST_LIKELIEST} and at most the vocabulary's size
 */
public record ScoreInputs(Tensor targets, Tensor counts) {

    public static final int NO_TARGET = -1;
}
