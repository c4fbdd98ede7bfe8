package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.http.SseEvents;
import dev.warmpath.router.openai.GenerationRequest.StreamUsage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One answer as server-sent events. What follows from one event of the completion is written together: the chunk with
 * the role comes with the first text, the end with all that belongs to it.
 */
final class SseAnswer {

    private static final String DONE = "[DONE]";
    private static final int TEXT = -1;
    private static final int REASONING = -2;

    private final SseEvents events;
    private final AnswerFormat format;
    private final AnswerFormat.HeadOf headOf;
    private final StreamUsage asked;
    private AnswerFormat.Head head;
    private boolean begun;
    private boolean hasCalls;
    /** Cached tokens are those that the router expects until the worker has told. */
    private Usage soFar = new Usage(0, 0, 0);
    private SseEvents.@Nullable Template texts;
    private int textsChoice;
    private int textsKind;

    /** A chunk of a stream that will end with usage says so all along: null, or what it is by then. */
    private record ChunkBeforeUsage(@JsonUnwrapped AnswerBody chunk,
            @JsonInclude(JsonInclude.Include.ALWAYS) AnswerBody.@Nullable UsageBody usage) {}

    SseAnswer(SseEvents events, AnswerFormat format, AnswerFormat.HeadOf headOf, StreamUsage asked) {
        this.events = events;
        this.format = format;
        this.headOf = headOf;
        this.head = headOf.revision("");
        this.asked = asked;
    }

    void accept(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                head = headOf.revision(routed.revision());
                soFar = new Usage(routed.promptTokens(), routed.decision().cachedTokens(), 0);
                texts = null;
            }
            case Text text -> {
                tokens(text.tokens());
                begin(text.choice());
                addText(text.choice(), TEXT, text.text(), AnswerPart.Text::new);
            }
            case Parts more -> {
                tokens(more.tokens());
                begin(more.choice());
                more.parts().forEach(part -> addPart(more.choice(), part));
            }
            case Finished finished -> {
                soFar = finished.usage();
                begin(finished.choice());
                end(finished);
            }
        }
    }

    private void tokens(int count) {
        if (asked == StreamUsage.ALL_ALONG) {
            soFar = new Usage(soFar.promptTokens(), soFar.cachedTokens(), count);
            texts = null;                                          // none is like another one
        }
    }

    private void begin(int choice) {
        @Nullable AnswerBody first = begun ? null : format.first(head, choice);
        begun = true;
        if (first != null) {
            events.addJson(chunk(first));
        }
    }

    private void addPart(int choice, AnswerPart part) {
        switch (part) {
            case AnswerPart.Text(String text) -> addText(choice, TEXT, text, AnswerPart.Text::new);
            case AnswerPart.Reasoning(String text) -> addText(choice, REASONING, text, AnswerPart.Reasoning::new);
            case AnswerPart.Arguments(int call, String json) ->
                addText(choice, call, json, any -> new AnswerPart.Arguments(call, any));
            case AnswerPart.Call _ -> {
                hasCalls = true;
                events.addJson(chunk(format.part(head, choice, part)));
            }
        }
    }

    /**
     * All chunks of one kind are alike but for their text: what Jackson writes around it is written once.
     *
     * @param kind of its part: one of the constants, or the index of the call whose arguments they are
     */
    private void addText(int choice, int kind, String text, Function<String, AnswerPart> part) {
        if (texts == null || choice != textsChoice || kind != textsKind) {
            texts = events.template(any -> chunk(format.part(head, choice, part.apply(any))));
            textsChoice = choice;
            textsKind = kind;
        }
        events.add(texts, text);
    }

    private void end(Finished finished) {
        finished.rest().forEach(part -> addPart(finished.choice(), part));
        events.addJson(chunk(format.finish(head, finished.choice(), finished.reason(), hasCalls)));
        if (asked != StreamUsage.NOTHING) {
            events.addJson(format.usage(head, finished.usage()));
        }
        events.addText(DONE);
    }

    private Object chunk(AnswerBody chunk) {
        return switch (asked) {
            case NOTHING -> chunk;
            case AT_END -> new ChunkBeforeUsage(chunk, null);
            case ALL_ALONG -> new ChunkBeforeUsage(chunk, AnswerBody.UsageBody.of(soFar));
        };
    }
}
