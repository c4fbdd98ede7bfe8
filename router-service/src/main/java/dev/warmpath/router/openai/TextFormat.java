package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Answers of {@code /v1/completions}: plain texts. Chunks and whole answers have one shape. */
record TextFormat(Shown shown) implements AnswerFormat {

    private static final String OBJECT = "text_completion";

    /** @param promptTokenIds of a choice of a whole answer, and of the first chunk of one that is streamed */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Choice(String text, int index, LogprobsBody.@Nullable Text logprobs,
            @JsonProperty("finish_reason") @Nullable FinishReason finishReason,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("token_ids") int @Nullable [] tokenIds,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("prompt_token_ids")
            int @Nullable [] promptTokenIds,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("prompt_logprobs")
            @Nullable List<?> promptLogprobs) {}

    @Override
    public String idPrefix() {
        return "cmpl-";
    }

    @Override
    public AnswerBody whole(Head head, List<WholePrompt> prompts, Usage usage) {
        List<Choice> choices = new ArrayList<>();
        for (WholePrompt prompt : prompts) {
            @Nullable List<?> promptLogprobs = LogprobsBody.prompt(prompt.scores(), shown.promptLogprobs());
            for (WholeChoice choice : prompt.choices()) {
                choices.add(new Choice(choice.text(), choices.size(),
                        LogprobsBody.text(choice.scores(), shown.logprobs()), choice.reason(),
                        shown.tokenIds() ? choice.ids() : null, shown.tokenIds() ? prompt.ids() : null,
                        promptLogprobs));
            }
        }
        return AnswerBody.of(head, OBJECT, choices, usage);
    }

    /** The prompt's ids, if they are asked for; otherwise a stream begins with its text. */
    @Override
    public @Nullable AnswerBody first(Head head, int choice, int[] promptTokens) {
        return shown.tokenIds() ? body(head, new Choice("", choice, null, null, Told.NOTHING.ids(), promptTokens, null))
                : null;
    }

    @Override
    public AnswerBody part(Head head, int choice, AnswerPart part, Told told) {
        if (part instanceof AnswerPart.Text(String text)) {
            return chunk(head, choice, text, null, told);
        }
        throw new IllegalArgumentException("not a part of a text: " + part);
    }

    @Override
    public AnswerBody finish(Head head, int choice, FinishReason reason, boolean hasCalls, Told told) {
        return chunk(head, choice, "", reason, told);
    }

    private AnswerBody chunk(Head head, int choice, String text, @Nullable FinishReason reason, Told told) {
        return body(head, new Choice(text, choice,
                told.scores().isEmpty() ? null : LogprobsBody.text(told.scores(), shown.logprobs()), reason,
                shown.tokenIds() ? told.ids() : null, null, null));
    }

    private static AnswerBody body(Head head, Choice choice) {
        return AnswerBody.of(head, OBJECT, List.of(choice));
    }

    @Override
    public AnswerBody usage(Head head, Usage usage) {
        return AnswerBody.of(head, OBJECT, List.of(), usage);
    }
}
