package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;

/** The {@code usage} object; cached tokens are always told, 0 on a miss. */
record AnswerUsage(
        @JsonProperty("prompt_tokens") int promptTokens,
        @JsonProperty("completion_tokens") int completionTokens,
        @JsonProperty("total_tokens") int totalTokens,
        @JsonProperty("prompt_tokens_details") PromptDetails promptTokensDetails) {

    record PromptDetails(@JsonProperty("cached_tokens") int cachedTokens) {}

    static AnswerUsage of(Usage usage) {
        return new AnswerUsage(usage.promptTokens(), usage.completionTokens(),
                usage.promptTokens() + usage.completionTokens(), new PromptDetails(usage.cachedTokens()));
    }
}
