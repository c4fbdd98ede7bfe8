package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Prompt;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.http.SseEvents;
import dev.warmpath.router.openai.GenerationRequest.StreamUsage;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One answer as server-sent events. What follows from one event of the completion is written together: the chunk with
 * the role comes with the first text, the end with all that belongs to it. Choices come as they are drawn, each by its
 * index.
 */
final class SseAnswer {

    private static final String DONE = "[DONE]";
    private static final int TEXT = -1;
    private static final int REASONING = -2;

    private final SseEvents events;
    private final AnswerFormat format;
    private final AnswerFormat.HeadOf headOf;
    private final StreamUsage asked;
    private final int choicesPerPrompt;
    private final Choice[] choices;
    private final StreamUsages usages;
    private AnswerFormat.Head head;
    private int openPrompts;

    /** A chunk of a stream that will end with usage says so all along: null, or what it is by then. */
    private record ChunkBeforeUsage(@JsonUnwrapped AnswerBody chunk,
            @JsonInclude(JsonInclude.Include.ALWAYS) AnswerBody.@Nullable UsageBody usage) {}

    /** What has been written of one choice. */
    private static final class Choice {

        private int[] promptTokens = Told.NOTHING.ids();
        private boolean begun;
        private boolean hasCalls;
        private SseEvents.@Nullable Template texts;
        private int textsKind;
    }

    /** @param promptCount of which each is continued by so many choices */
    SseAnswer(SseEvents events, AnswerFormat format, AnswerFormat.HeadOf headOf, StreamUsage asked, int promptCount,
            int choicesPerPrompt) {
        this.events = events;
        this.format = format;
        this.headOf = headOf;
        this.head = headOf.revision("");
        this.asked = asked;
        this.choicesPerPrompt = choicesPerPrompt;
        this.choices = new Choice[promptCount * choicesPerPrompt];
        for (int i = 0; i < choices.length; i++) {
            choices[i] = new Choice();
        }
        this.usages = new StreamUsages(promptCount, choicesPerPrompt);
        this.openPrompts = promptCount;
    }

    void accept(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                head = headOf.revision(routed.revision());
                usages.begin(routed.firstChoice(), routed.promptTokens().length, routed.decision().cachedTokens());
                for (int i = 0; i < choicesPerPrompt; i++) {
                    Choice choice = choices[routed.firstChoice() + i];
                    choice.promptTokens = routed.promptTokens();
                    choice.texts = null;
                }
            }
            case Prompt _ -> throw new IllegalStateException("a stream does not tell of its prompt by itself");
            case Text text -> {
                count(text.choice(), text.tokens());
                begin(text.choice());
                addText(text.choice(), TEXT, text.text(), text.told(), AnswerPart.Text::new);
            }
            case Parts more -> {
                count(more.choice(), more.tokens());
                begin(more.choice());
                addParts(more.choice(), more.parts(), more.told());
            }
            case Finished finished -> {
                begin(finished.choice());
                end(finished);
            }
        }
    }

    private void count(int choice, int tokens) {
        if (asked == StreamUsage.ALL_ALONG) {
            usages.count(choice, tokens);
            choices[choice].texts = null;                          // none is like another one
        }
    }

    private void begin(int index) {
        Choice choice = choices[index];
        @Nullable AnswerBody first = choice.begun ? null : format.first(head, index, choice.promptTokens);
        choice.begun = true;
        if (first != null) {
            events.addJson(chunk(first));
        }
    }

    /** What is told of tokens comes with the first of them. */
    private void addParts(int choice, List<AnswerPart> parts, Told told) {
        Told left = told;
        for (AnswerPart part : parts) {
            addPart(choice, part, left);
            left = Told.NOTHING;
        }
    }

    private void addPart(int choice, AnswerPart part, Told told) {
        switch (part) {
            case AnswerPart.Text(String text) -> addText(choice, TEXT, text, told, AnswerPart.Text::new);
            case AnswerPart.Reasoning(String text) ->
                addText(choice, REASONING, text, told, AnswerPart.Reasoning::new);
            case AnswerPart.Arguments(int call, String json) ->
                addText(choice, call, json, told, any -> new AnswerPart.Arguments(call, any));
            case AnswerPart.Call _ -> {
                choices[choice].hasCalls = true;
                events.addJson(chunk(format.part(head, choice, part, told)));
            }
        }
    }

    /**
     * All chunks of one kind are alike but for their text, unless they tell more: what Jackson writes around it is
     * written once.
     *
     * @param kind of its part: one of the constants, or the index of the call whose arguments they are
     */
    private void addText(int index, int kind, String text, Told told, Function<String, AnswerPart> part) {
        if (told != Told.NOTHING) {
            events.addJson(chunk(format.part(head, index, part.apply(text), told)));
            return;
        }
        Choice choice = choices[index];
        SseEvents.Template template = choice.texts;
        if (template == null || kind != choice.textsKind) {
            template = events.template(any -> chunk(format.part(head, index, part.apply(any), Told.NOTHING)));
            choice.texts = template;
            choice.textsKind = kind;
        }
        events.add(template, text);
    }

    private void end(Finished finished) {
        Told left = finished.told();
        if (!finished.rest().isEmpty()) {
            addParts(finished.choice(), finished.rest(), left);
            left = Told.NOTHING;
        }
        usages.finish(finished);
        events.addJson(chunk(format.finish(head, finished.choice(), finished.reason(),
                choices[finished.choice()].hasCalls, left)));
        openPrompts -= finished.last() ? 1 : 0;
        if (openPrompts == 0) {
            if (asked != StreamUsage.NOTHING) {
                events.addJson(format.usage(head, usages.total()));
            }
            events.addText(DONE);
        }
    }

    private Object chunk(AnswerBody chunk) {
        return switch (asked) {
            case NOTHING -> chunk;
            case AT_END -> new ChunkBeforeUsage(chunk, null);
            case ALL_ALONG -> new ChunkBeforeUsage(chunk, AnswerBody.UsageBody.of(usages.total()));
        };
    }
}
