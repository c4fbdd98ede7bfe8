package dev.warmpath.router.tokenization.template;

import java.time.Clock;
import java.time.ZonedDateTime;

/** What one rendering has used of its {@link TemplateLimits}, where it is, and what time it is. */
final class RenderContext {
    private final TemplateLimits limits;
    private final Clock clock;
    private long steps;
    private long copiedChars;
    private int depth;
    private int line;

    RenderContext(TemplateLimits limits, Clock clock) {
        this.limits = limits;
        this.clock = clock;
    }

    void at(int line) {
        this.line = line;
    }

    ZonedDateTime now() {
        return ZonedDateTime.now(clock);
    }

    void steps(long count) {
        steps += count;
        if (steps > limits.maxSteps()) {
            throw limit("the chat template needs more than " + limits.maxSteps() + " steps");
        }
    }

    /** To be called before a string of this many UTF-16 units is made. */
    void chars(long count) {
        output(count, count);
    }

    /** To be called before {@code added} UTF-16 units make a text grow to {@code length}. */
    void output(long length, long added) {
        copiedChars += added;
        if (length > limits.maxOutputChars()) {
            throw limit("the chat template makes a string of more than " + limits.maxOutputChars() + " characters");
        }
        if (copiedChars > limits.maxCopiedChars()) {
            throw limit("the chat template copies more than " + limits.maxCopiedChars() + " characters");
        }
    }

    void enter() {
        steps(1);
        if (++depth > limits.maxDepth()) {
            throw limit("the chat template nests deeper than " + limits.maxDepth());
        }
    }

    void leave() {
        depth--;
    }

    TemplateException wrong(String message) {
        return new TemplateException(TemplateException.Kind.EVALUATION, message, line);
    }

    TemplateException unsupported(String what) {
        return new TemplateException(TemplateException.Kind.UNSUPPORTED, what + " is not supported", line);
    }

    TemplateException refused(String message) {
        return new TemplateException(TemplateException.Kind.REFUSED, message, line);
    }

    private TemplateException limit(String message) {
        return new TemplateException(TemplateException.Kind.LIMIT, message, line);
    }
}
