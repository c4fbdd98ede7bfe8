package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.http.SseEvents;
import org.jspecify.annotations.Nullable;

/**
 * One answer as server-sent events. What follows from one event of the completion is written together: the chunk with
 * the role comes with the first text, the end with all that belongs to it.
 */
final class SseAnswer {

    private static final String DONE = "[DONE]";

    private final SseEvents events;
    private final AnswerFormat format;
    private final AnswerFormat.HeadOf headOf;
    private final boolean includeUsage;
    private AnswerFormat.Head head;
    private boolean begun;
    private SseEvents.@Nullable Template texts;
    private int textsChoice;

    /** A chunk of a stream that will end with usage says so all along. */
    private record ChunkBeforeUsage(@JsonUnwrapped AnswerBody chunk,
            @JsonInclude(JsonInclude.Include.ALWAYS) AnswerBody.@Nullable UsageBody usage) {}

    SseAnswer(SseEvents events, AnswerFormat format, AnswerFormat.HeadOf headOf, boolean includeUsage) {
        this.events = events;
        this.format = format;
        this.headOf = headOf;
        this.head = headOf.revision("");
        this.includeUsage = includeUsage;
    }

    void accept(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                head = headOf.revision(routed.revision());
                texts = null;
            }
            case Text text -> {
                begin(text.choice());
                addText(text.choice(), text.text());
            }
            case Finished finished -> {
                begin(finished.choice());
                end(finished);
            }
        }
    }

    private void begin(int choice) {
        @Nullable AnswerBody first = begun ? null : format.first(head, choice);
        begun = true;
        if (first != null) {
            events.addJson(chunk(first));
        }
    }

    /** All of a choice's chunks are alike but for their text: what Jackson writes around it is written once. */
    private void addText(int choice, String text) {
        if (texts == null || choice != textsChoice) {
            texts = events.template(any -> chunk(format.text(head, choice, any)));
            textsChoice = choice;
        }
        events.add(texts, text);
    }

    private void end(Finished finished) {
        if (!finished.rest().isEmpty()) {
            addText(finished.choice(), finished.rest());
        }
        events.addJson(chunk(format.finish(head, finished.choice(), finished.reason())));
        if (includeUsage) {
            events.addJson(format.usage(head, finished.usage()));
        }
        events.addText(DONE);
    }

    private Object chunk(AnswerBody chunk) {
        return includeUsage ? new ChunkBeforeUsage(chunk, null) : chunk;
    }
}
