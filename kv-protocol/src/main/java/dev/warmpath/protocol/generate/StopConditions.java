package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.Arrays;

/**
 * When a generation ends.
 *
 * @param maxTokens    most tokens to generate, at least 1; the context limit may end it sooner
 * @param stopTokenIds a token that ends the answer; the model's own end-of-sequence tokens come on top
 * @param ignoreEos    true: the model's end-of-sequence tokens do not end the answer ({@code stopTokenIds} still do)
 * @param minTokens    tokens that are generated before any token ends the answer, at most {@code maxTokens}; 0 = none;
 *                     until then none that would end it is drawn. The model's context may still end it sooner
 */
public record StopConditions(
        int maxTokens,
        int[] stopTokenIds,
        boolean ignoreEos,
        @JsonSetter(nulls = Nulls.AS_EMPTY) int minTokens) {     // absent is 0

    public static final int MAX_STOP_TOKEN_IDS = 128;

    public StopConditions {
        if (maxTokens < 1) {
            throw new IllegalArgumentException("maxTokens " + maxTokens + " is below 1");
        }
        if (stopTokenIds.length > MAX_STOP_TOKEN_IDS) {
            throw new IllegalArgumentException(
                    stopTokenIds.length + " stop token ids, at most " + MAX_STOP_TOKEN_IDS + " are taken");
        }
        if (minTokens < 0 || minTokens > maxTokens) {
            throw new IllegalArgumentException(
                    "minTokens " + minTokens + " is outside 0 to maxTokens " + maxTokens);
        }
    }

    /** An answer that may be as short as its tokens make it. */
    public StopConditions(int maxTokens, int[] stopTokenIds, boolean ignoreEos) {
        this(maxTokens, stopTokenIds, ignoreEos, 0);
    }

    public static StopConditions maxTokens(int maxTokens) {
        return new StopConditions(maxTokens, new int[0], false);
    }

    /** The same conditions for an answer of at least so many tokens. */
    public StopConditions withMinTokens(int least) {
        return new StopConditions(maxTokens, stopTokenIds, ignoreEos, least);
    }

    /** So many tokens, whatever the model says of an end; the context limit may end it sooner. */
    public static StopConditions pastTheEnd(int maxTokens) {
        return new StopConditions(maxTokens, new int[0], true);
    }

    public boolean stopsAt(int token) {
        for (int stop : stopTokenIds) {
            if (stop == token) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof StopConditions(int max, int[] ids, boolean ignore, int min)
                && max == maxTokens && ignore == ignoreEos && min == minTokens && Arrays.equals(ids, stopTokenIds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(stopTokenIds) * 31 + maxTokens;
    }

    @Override
    public String toString() {
        return "StopConditions[maxTokens=" + maxTokens + ", stopTokenIds=" + Arrays.toString(stopTokenIds)
                + ", ignoreEos=" + ignoreEos + ", minTokens=" + minTokens + "]";
    }
}
