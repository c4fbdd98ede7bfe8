package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import org.jspecify.annotations.Nullable;

/** One line of a generation's answer. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
    @JsonSubTypes.Type(value = GenerateEvent.Tokens.class, name = "tokens"),
    @JsonSubTypes.Type(value = GenerateEvent.Finished.class, name = "finished"),
    @JsonSubTypes.Type(value = GenerateEvent.Failed.class, name = "failed"),
})
@JsonInclude(JsonInclude.Include.NON_NULL)
public sealed interface GenerateEvent {

    /**
     * Tokens as they are drawn.
     *
     * @param index    which choice of the request, 0 while one choice is all that is served
     * @param ids      one or more, in order; a stop token is the last
     * @param logprobs natural logarithms of their probabilities in the same order, if asked for
     */
    record Tokens(int index, int[] ids, float @Nullable [] logprobs) implements GenerateEvent {}

    /** The end of a generation that went well. */
    record Finished(FinishReason reason, Usage usage) implements GenerateEvent {}

    /** The end of one that did not. */
    record Failed(FailureReason reason, String message) implements GenerateEvent {}

    /**
     * @param promptTokens     length of the prompt
     * @param cachedTokens     how many of them were found in the cache when the request was first admitted
     * @param completionTokens tokens drawn, a stop token included
     */
    record Usage(int promptTokens, int cachedTokens, int completionTokens) {}
}
