package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A whole answer or one chunk of a stream; both endpoints share the outer shape.
 *
 * @param usage null except in a whole answer and in the last chunk of a stream that was asked for it
 * @param promptTokenIds of a chat that was asked for them: in its whole answer, or the first chunk
 * @param promptLogprobs likewise, in its whole answer
 */
@JsonPropertyOrder({"id", "object", "created", "model", "system_fingerprint", "choices", "usage", "prompt_token_ids",
    "prompt_logprobs"})
record AnswerBody(
        String id,
        String object,
        long created,
        String model,
        @JsonProperty("system_fingerprint") String systemFingerprint,
        List<?> choices,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable UsageBody usage,
        @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("prompt_token_ids") int @Nullable [] promptTokenIds,
        @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("prompt_logprobs") @Nullable List<?> promptLogprobs) {

    /** Cached tokens are always told, 0 on a miss. */
    record UsageBody(
            @JsonProperty("prompt_tokens") int promptTokens,
            @JsonProperty("completion_tokens") int completionTokens,
            @JsonProperty("total_tokens") int totalTokens,
            @JsonProperty("prompt_tokens_details") PromptDetails promptTokensDetails) {

        record PromptDetails(@JsonProperty("cached_tokens") int cachedTokens) {}

        static UsageBody of(Usage usage) {
            return new UsageBody(usage.promptTokens(), usage.completionTokens(),
                    usage.promptTokens() + usage.completionTokens(), new PromptDetails(usage.cachedTokens()));
        }
    }

    /** Without usage. */
    static AnswerBody of(AnswerFormat.Head head, String object, List<?> choices) {
        return new AnswerBody(head.id(), object, head.created(), head.model(), head.systemFingerprint(), choices, null,
                null, null);
    }

    static AnswerBody of(AnswerFormat.Head head, String object, List<?> choices, Usage usage) {
        return new AnswerBody(head.id(), object, head.created(), head.model(), head.systemFingerprint(), choices,
                UsageBody.of(usage), null, null);
    }

    /** The same with what a chat tells of its prompt, or null. */
    AnswerBody with(int @Nullable [] ids, @Nullable List<?> logprobs) {
        return new AnswerBody(id, object, created, model, systemFingerprint, choices, usage, ids, logprobs);
    }
}
