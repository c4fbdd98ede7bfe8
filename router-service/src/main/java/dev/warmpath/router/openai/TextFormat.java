package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Answers of {@code /v1/completions}: plain text. Chunks and whole answers have one shape. */
final class TextFormat implements AnswerFormat {

    private static final String OBJECT = "text_completion";

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Choice(String text, int index, @Nullable Object logprobs,
            @JsonProperty("finish_reason") @Nullable FinishReason finishReason) {}

    @Override
    public String idPrefix() {
        return "cmpl-";
    }

    @Override
    public AnswerBody whole(Head head, int choice, WholeMessage message, FinishReason reason, Usage usage) {
        return AnswerBody.of(head, OBJECT, List.of(new Choice(message.text(), choice, null, reason)), usage);
    }

    @Override
    public @Nullable AnswerBody first(Head head, int choice) {
        return null;
    }

    @Override
    public AnswerBody part(Head head, int choice, AnswerPart part) {
        if (part instanceof AnswerPart.Text(String text)) {
            return AnswerBody.of(head, OBJECT, List.of(new Choice(text, choice, null, null)));
        }
        throw new IllegalArgumentException("not a part of a text: " + part);
    }

    @Override
    public AnswerBody finish(Head head, int choice, FinishReason reason, boolean hasCalls) {
        return AnswerBody.of(head, OBJECT, List.of(new Choice("", choice, null, reason)));
    }

    @Override
    public AnswerBody usage(Head head, Usage usage) {
        return AnswerBody.of(head, OBJECT, List.of(), usage);
    }
}
