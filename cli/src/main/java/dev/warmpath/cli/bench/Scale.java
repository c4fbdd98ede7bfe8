package dev.warmpath.cli.bench;

import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;

/**
 * How much shorter a load is than it was drawn: each piece of its prompts has so many tokens of them, so that what is
 * shared stays shared, in the same proportions. Answers are shortened alike.
 *
 * @param pieceTokens of a piece, as sent; at least 1
 * @param of          of a piece, as drawn
 */
record Scale(int pieceTokens, int of) {

    static Scale times(double factor, int pieceTokens) {
        return new Scale(Math.max(1, (int) Math.round(factor * pieceTokens)), pieceTokens);
    }

    /** The longest with which so many tokens fit into the context. @param contextTokens 0: unknown */
    static Scale fitting(long longestTokens, int contextTokens, int pieceTokens) {
        double factor = contextTokens == 0 ? 1 : Math.min(1, (double) contextTokens / longestTokens);
        return new Scale(Math.max(1, (int) (factor * pieceTokens)), pieceTokens);
    }

    double factor() {
        return (double) pieceTokens / of;
    }

    int answerTokens(Turn turn) {
        return Math.max(1, (int) (factor() * turn.answerTokens()));
    }

    /** Of a prompt's piece; the last one may be cut. */
    int tokens(Prompt prompt, int piece) {
        int drawn = Math.min(of, prompt.length() - piece * of);
        return drawn == of ? pieceTokens : Math.max(1, (int) (factor() * drawn));
    }

    int promptTokens(Prompt prompt) {
        int last = prompt.pieces().length - 1;
        return last * pieceTokens + tokens(prompt, last);
    }
}
