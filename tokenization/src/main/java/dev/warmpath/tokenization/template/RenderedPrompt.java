package dev.warmpath.tokenization.template;

import java.util.List;
import java.util.Objects;

/**
 * A prompt as text, with the places that the client wrote. A tokenizer reads role markers only where the template
 * wrote them: {@link #isFromClient} is asked for each.
 */
public final class RenderedPrompt {
    private final Text text;

    RenderedPrompt(Text text) {
        this.text = text;
    }

    /** A prompt in which every role marker counts, wherever it came from. */
    public static RenderedPrompt trusted(String text) {
        return new RenderedPrompt(Text.trusted(text));
    }

    /** A prompt without role markers: what looks like one is ordinary text. */
    public static RenderedPrompt fromClient(String text) {
        return new RenderedPrompt(Text.fromClient(text));
    }

    /**
     * The prompt without what the template wrote behind a message, so that this one can be continued.
     *
     * @throws TemplateException EVALUATION if the message is not in the prompt as it was written
     */
    public RenderedPrompt upToEndOf(ChatMessage message) {
        List<String> parts = Objects.requireNonNullElse(message.parts(), List.of());
        String content = parts.isEmpty() ? "" : parts.getLast();   // how others are joined to it, the template says
        String inner = content.strip();
        int start = inner.isEmpty() ? -1 : text().lastIndexOf(inner);
        while (start >= 0 && !isFromClient(start, start + 1)) {    // the template's own words may be the same
            start = text().lastIndexOf(inner, start - 1);
        }
        if (start < 0) {
            throw new TemplateException(TemplateException.Kind.EVALUATION,
                    "the chat template does not write the last message as it is, so it cannot be continued", 0);
        }
        // as transformers does: white space at its end is kept if the template kept it
        String withEnd = content.stripLeading();
        int length = text().startsWith(withEnd, start) ? withEnd.length() : inner.length();
        return new RenderedPrompt(text.substring(0, start + length));
    }

    public String text() {
        return text.chars();
    }

    /** Whether any character in {@code [start, end)}, in UTF-16 units, is the client's. Logarithmic. */
    public boolean isFromClient(int start, int end) {
        int[] ranges = text.clientRanges();
        int first = Text.firstEndingAfter(ranges, start);
        return first < ranges.length && ranges[first] < end;
    }

    @Override
    public String toString() {
        return text();
    }
}
