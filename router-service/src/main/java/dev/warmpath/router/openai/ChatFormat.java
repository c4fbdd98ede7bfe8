package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Answers of {@code /v1/chat/completions}: a message, or the deltas of one. */
final class ChatFormat implements AnswerFormat {

    private static final String WHOLE = "chat.completion";
    private static final String CHUNK = "chat.completion.chunk";
    private static final String ASSISTANT = "assistant";
    private static final Delta NO_CHANGE = new Delta(null, null);

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Choice(int index, Message message, @Nullable Object logprobs,
            @JsonProperty("finish_reason") FinishReason finishReason) {}

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Message(String role, String content, @Nullable String refusal) {}

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record ChunkChoice(int index, Delta delta, @Nullable Object logprobs,
            @JsonProperty("finish_reason") @Nullable FinishReason finishReason) {}

    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Delta(@Nullable String role, @Nullable String content) {}

    @Override
    public String idPrefix() {
        return "chatcmpl-";
    }

    @Override
    public AnswerBody whole(Head head, int choice, String text, FinishReason reason, Usage usage) {
        var message = new Message(ASSISTANT, text, null);
        return AnswerBody.of(head, WHOLE, List.of(new Choice(choice, message, null, reason)), usage);
    }

    @Override
    public AnswerBody first(Head head, int choice) {
        return chunk(head, choice, new Delta(ASSISTANT, ""), null);
    }

    @Override
    public AnswerBody text(Head head, int choice, String text) {
        return chunk(head, choice, new Delta(null, text), null);
    }

    @Override
    public AnswerBody finish(Head head, int choice, FinishReason reason) {
        return chunk(head, choice, NO_CHANGE, reason);
    }

    @Override
    public AnswerBody usage(Head head, Usage usage) {
        return AnswerBody.of(head, CHUNK, List.of(), usage);
    }

    private static AnswerBody chunk(Head head, int choice, Delta delta, @Nullable FinishReason reason) {
        return AnswerBody.of(head, CHUNK, List.of(new ChunkChoice(choice, delta, null, reason)));
    }
}
