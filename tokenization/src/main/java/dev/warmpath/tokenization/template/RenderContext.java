package dev.warmpath.tokenization.template;

import java.time.ZonedDateTime;

/**
 * What one rendering has used of its {@link TemplateLimits}, where it is, and what time it is. Whoever does something
 * whose cost grows with its input says so here first; what grows faster than that is not done.
 */
final class RenderContext {
    private static final int CHARS_PER_STEP = 64;
    private static final int STEPS_BETWEEN_LOOKS = 4_096;
    /** Of a string beside its characters: it, its array and the {@link Text} around it. */
    private static final int STRING_BYTES = 72;
    /** A place in a list, and a small value. */
    private static final int ITEM_BYTES = 24;
    /** A place in a map. */
    private static final int ENTRY_BYTES = 64;

    private final TemplateLimits limits;
    private final RenderClock clock;
    private final long startNanos;
    private long maxSteps;
    private long maxBytes;
    private long steps;
    private long stepsAtNextLook = STEPS_BETWEEN_LOOKS;
    private long bytes;
    private int depth;
    private int line;

    RenderContext(TemplateLimits limits, RenderClock clock) {
        this.limits = limits;
        this.clock = clock;
        this.startNanos = clock.nanoTime().getAsLong();
        this.maxSteps = limits.maxSteps();
        this.maxBytes = limits.maxBytes();
    }

    void at(int line) {
        this.line = line;
    }

    ZonedDateTime now() {
        return ZonedDateTime.now(clock.date());
    }

    /** The client sent so many messages. */
    void messages(int count) {
        maxSteps += (long) count * limits.stepsPerMessage();
    }

    /** The client sent so many UTF-16 units, which may be copied some times. */
    void given(long chars) {
        maxBytes += chars * limits.bytesPerChar();
    }

    void steps(long count) {
        steps += count;
        if (steps >= stepsAtNextLook) {
            look();
        }
    }

    private void look() {
        if (steps > maxSteps) {
            throw limit("the chat template needs more than " + maxSteps + " steps");
        }
        if (clock.nanoTime().getAsLong() - startNanos > limits.maxTime().toNanos()) {
            throw limit("the chat template takes longer than " + limits.maxTime().toMillis() + " ms");
        }
        stepsAtNextLook = Math.min(maxSteps + 1, steps + STEPS_BETWEEN_LOOKS);
    }

    /** Before so many UTF-16 units are compared, searched or counted. */
    void read(long chars) {
        steps(chars / CHARS_PER_STEP);
    }

    /** Before a string of this many UTF-16 units is made. */
    void chars(long count) {
        output(count, count);
        bytes += STRING_BYTES;
    }

    /** Before a copy of the text is made. */
    void copy(Text text) {
        chars(text.chars().length());
        memory(text.bytes() - 2L * text.chars().length());
    }

    /** Before a string is joined to another one. */
    void output(long length, Text added) {
        output(length, added.chars().length());
        memory(added.bytes() - 2L * added.chars().length());
    }

    /** Before {@code added} UTF-16 units make a text grow to {@code length}. */
    void output(long length, long added) {
        if (length > limits.maxOutputChars()) {
            throw limit("the chat template makes a string of more than " + limits.maxOutputChars() + " characters");
        }
        memory(2 * added);
        read(added);
    }

    /** Before a list of so many is made. */
    void items(long count) {
        steps(count);
        memory(ITEM_BYTES * count);
    }

    /** A list of so many is nobody's any more. */
    void forget(long count) {
        bytes -= ITEM_BYTES * count;
    }

    /** Before a dict of so many is made. */
    void entries(long count) {
        steps(count);
        memory(ENTRY_BYTES * count);
    }

    private void memory(long count) {
        bytes += count;
        if (bytes > maxBytes) {
            throw limit("the chat template copies more than " + maxBytes + " bytes");
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

    TemplateException limit(String message) {
        return new TemplateException(TemplateException.Kind.LIMIT, message, line);
    }
}
