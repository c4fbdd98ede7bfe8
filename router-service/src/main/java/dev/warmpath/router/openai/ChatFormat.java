package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Answers of {@code /v1/chat/completions}: messages, or the deltas of such. */
record ChatFormat(Shown shown) implements AnswerFormat {

    private static final String WHOLE = "chat.completion";
    private static final String CHUNK = "chat.completion.chunk";
    private static final String ASSISTANT = "assistant";
    private static final String FUNCTION = "function";
    private static final String CALLED = "tool_calls";
    private static final Delta NO_CHANGE = new Delta(null, null, null, null);

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Choice(int index, Message message, LogprobsBody.@Nullable Chat logprobs,
            @JsonProperty("finish_reason") String finishReason,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("token_ids") int @Nullable [] tokenIds) {}

    /**
     * @param content          null if there is nothing but calls
     * @param reasoningContent absent if the model did not show any, as the calls
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record Message(String role, @Nullable String content, @Nullable String refusal,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("reasoning_content")
            @Nullable String reasoningContent,
            @JsonInclude(JsonInclude.Include.NON_EMPTY) @JsonProperty("tool_calls") List<ToolCall> toolCalls) {}

    @JsonInclude(JsonInclude.Include.ALWAYS)
    private record ChunkChoice(int index, Delta delta, LogprobsBody.@Nullable Chat logprobs,
            @JsonProperty("finish_reason") @Nullable String finishReason,
            @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("token_ids") int @Nullable [] tokenIds) {}

    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Delta(@Nullable String role, @Nullable String content,
            @JsonProperty("reasoning_content") @Nullable String reasoningContent,
            @JsonProperty("tool_calls") @Nullable List<ToolCall> toolCalls) {

        static Delta of(ToolCall call) {
            return new Delta(null, null, null, List.of(call));
        }
    }

    /** A call, or in a delta the beginning or more of one; {@code index} is told there only. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record ToolCall(@Nullable Integer index, @Nullable String id, @Nullable String type, Function function) {}

    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Function(@Nullable String name, String arguments) {}

    @Override
    public String idPrefix() {
        return "chatcmpl-";
    }

    @Override
    public AnswerBody whole(Head head, List<WholePrompt> prompts, Usage usage) {
        WholePrompt prompt = prompts.getFirst();
        List<Choice> choices = new ArrayList<>();
        prompt.choices().forEach(choice -> choices.add(choice(choices.size(), choice)));
        return AnswerBody.of(head, WHOLE, choices, usage).with(
                shown.tokenIds() ? prompt.ids() : null, LogprobsBody.prompt(prompt.scores(), shown.promptLogprobs()));
    }

    private Choice choice(int index, WholeChoice choice) {
        List<WholeChoice.Call> calls = choice.calls();
        List<ToolCall> toolCalls = calls.stream().map(call -> new ToolCall(null, call.id(), FUNCTION,
                new Function(call.name(), call.arguments().toString()))).toList();
        String text = choice.text();
        String reasoning = choice.reasoning();
        var message = new Message(ASSISTANT, text.isEmpty() && !calls.isEmpty() ? null : text, null,
                reasoning.isEmpty() ? null : reasoning, toolCalls);
        return new Choice(index, message, LogprobsBody.chat(choice.scores(), shown.logprobs()),
                reason(choice.reason(), !calls.isEmpty()), shown.tokenIds() ? choice.ids() : null);
    }

    @Override
    public AnswerBody first(Head head, int choice, int[] promptTokens) {
        AnswerBody first = chunk(head, choice, new Delta(ASSISTANT, "", null, null), null, Told.NOTHING);
        return shown.tokenIds() ? first.with(promptTokens, null) : first;
    }

    @Override
    public AnswerBody part(Head head, int choice, AnswerPart part, Told told) {
        Delta delta = switch (part) {
            case AnswerPart.Text more -> new Delta(null, more.text(), null, null);
            case AnswerPart.Reasoning more -> new Delta(null, null, more.text(), null);
            case AnswerPart.Call call ->
                Delta.of(new ToolCall(call.index(), call.id(), FUNCTION, new Function(call.name(), "")));
            case AnswerPart.Arguments more ->
                Delta.of(new ToolCall(more.index(), null, null, new Function(null, more.json())));
        };
        return chunk(head, choice, delta, null, told);
    }

    @Override
    public AnswerBody finish(Head head, int choice, FinishReason reason, boolean hasCalls, Told told) {
        return chunk(head, choice, NO_CHANGE, reason(reason, hasCalls), told);
    }

    /** An answer that was cut off within its calls says so. */
    private static String reason(FinishReason reason, boolean hasCalls) {
        return hasCalls && reason == FinishReason.STOP ? CALLED : reason.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public AnswerBody usage(Head head, Usage usage) {
        return AnswerBody.of(head, CHUNK, List.of(), usage);
    }

    private AnswerBody chunk(Head head, int choice, Delta delta, @Nullable String reason, Told told) {
        return AnswerBody.of(head, CHUNK, List.of(new ChunkChoice(choice, delta,
                told.scores().isEmpty() ? null : LogprobsBody.chat(told.scores(), shown.logprobs()), reason,
                shown.tokenIds() ? told.ids() : null)));
    }
}
