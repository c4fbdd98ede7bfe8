package dev.warmpath.tokenization.template;

import java.time.Duration;

/**
 * What one rendering may use before it ends with {@link TemplateException.Kind#LIMIT}. The template comes with the
 * model, the values come from clients: neither may hold a thread or the heap.
 *
 * @param maxSteps        evaluated nodes, list elements looked at or made, and each 64 UTF-16 units looked at
 * @param stepsPerMessage so many more for each message: some templates look at all messages for each of them
 * @param maxOutputChars  length of the prompt, and of any string on the way to it, in UTF-16 units
 * @param maxBytes        memory of all strings and lists made on the way, whether kept or not
 * @param bytesPerChar    so many bytes more for each UTF-16 unit that the client sent: a usual template copies content
 *                        3 to 6 times, at 2 bytes
 * @param maxDepth        nesting of blocks, expressions and macro calls
 * @param maxTime         by the clock; looked at each 4,096 steps, which take less than a millisecond
 */
public record TemplateLimits(
        long maxSteps, int stepsPerMessage, int maxOutputChars, long maxBytes, int bytesPerChar, int maxDepth,
        Duration maxTime) {
    /** Enough for 4,096 messages in 16 million characters, and for 2,000 where each is held against all. */
    public static final TemplateLimits DEFAULT =
            new TemplateLimits(4_000_000, 8_000, 16 << 20, 64L << 20, 16, 200, Duration.ofSeconds(5));

    public TemplateLimits {
        if (maxSteps < 1 || stepsPerMessage < 0 || maxOutputChars < 1 || maxBytes < maxOutputChars || bytesPerChar < 0
                || maxDepth < 1 || !maxTime.isPositive()) {
            throw new IllegalArgumentException("template limits must be positive, and bytes must allow one output");
        }
    }
}
