package dev.warmpath.protocol.generate;

import java.util.Arrays;

/**
 * When a generation ends.
 *
 * @param maxTokens    most tokens to generate, at least 1; the context limit may end it sooner
 * @param stopTokenIds a token that ends the answer; the model's own end-of-sequence tokens come on top
 * @param ignoreEos    true: the model's end-of-sequence tokens do not end the answer ({@code stopTokenIds} still do)
 */
public record StopConditions(int maxTokens, int[] stopTokenIds, boolean ignoreEos) {

    public static final int MAX_STOP_TOKEN_IDS = 128;

    public StopConditions {
        if (maxTokens < 1) {
            throw new IllegalArgumentException("maxTokens " + maxTokens + " is below 1");
        }
        if (stopTokenIds.length > MAX_STOP_TOKEN_IDS) {
            throw new IllegalArgumentException(
                    stopTokenIds.length + " stop token ids, at most " + MAX_STOP_TOKEN_IDS + " are taken");
        }
    }

    public static StopConditions maxTokens(int maxTokens) {
        return new StopConditions(maxTokens, new int[0], false);
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
        return other instanceof StopConditions(int max, int[] ids, boolean ignore)
                && max == maxTokens && ignore == ignoreEos && Arrays.equals(ids, stopTokenIds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(stopTokenIds) * 31 + maxTokens;
    }

    @Override
    public String toString() {
        return "StopConditions[maxTokens=" + maxTokens + ", stopTokenIds=" + Arrays.toString(stopTokenIds)
                + ", ignoreEos=" + ignoreEos + "]";
    }
}
