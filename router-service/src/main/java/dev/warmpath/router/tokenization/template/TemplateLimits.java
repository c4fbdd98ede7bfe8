package dev.warmpath.router.tokenization.template;

/**
 * What one rendering may use before it ends with {@link TemplateException.Kind#LIMIT}. The template comes with the
 * model, the values come from clients: neither may hold a thread or the heap.
 * @param maxSteps       evaluated nodes plus list elements made, per rendering
 * @param maxOutputChars length of the prompt, and of any string on the way to it, in UTF-16 units
 * @param maxCopiedChars all string characters made on the way, in UTF-16 units; a usual template copies content 6 times
 * @param maxDepth       nesting of blocks, expressions and macro calls
 */
public record TemplateLimits(long maxSteps, int maxOutputChars, long maxCopiedChars, int maxDepth) {
    /** Enough for 4,096 messages in 16 million characters. */
    public static final TemplateLimits DEFAULT = new TemplateLimits(4_000_000, 16 << 20, 256L << 20, 200);

    public TemplateLimits {
        if (maxSteps < 1 || maxOutputChars < 1 || maxCopiedChars < maxOutputChars || maxDepth < 1) {
            throw new IllegalArgumentException("template limits must be positive, and copying must allow one output");
        }
    }
}
