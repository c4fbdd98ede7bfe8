package dev.warmpath.cli.bench;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What came of one request that was answered to its end. Times are in nanoseconds of the run's clock.
 *
 * @param firstNanos       when the first text came; the end where there was none
 * @param gapNanos         between two pieces of text, in order
 * @param promptTokens     as the server counted; -1 if it did not tell
 * @param cachedTokens     of these, found in a cache; -1 if it did not tell
 * @param completionTokens as the server counted, or pieces of text if it did not tell
 * @param text             all of it
 * @param ids              all of them; none if they were not asked for
 * @param worker           that answered, if a router tells
 */
record Answer(long firstNanos, long lastNanos, long endNanos, long[] gapNanos, int promptTokens, int cachedTokens,
        int completionTokens, String text, int[] ids, @Nullable String worker) {

    /** From one token to the next, on average; 0 if there was one. */
    double meanTokenNanos() {
        return completionTokens < 2 ? 0 : (double) (lastNanos - firstNanos) / (completionTokens - 1);
    }

    @Override
    public String toString() {
        return completionTokens + " tokens, " + Arrays.toString(ids);
    }
}
