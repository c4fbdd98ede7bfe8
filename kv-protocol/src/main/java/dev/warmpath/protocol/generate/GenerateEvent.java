package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.Nulls;
import org.jspecify.annotations.Nullable;

/**
 * One line of a generation's answer: what was asked for of its prompt, then tokens of its choices as they are drawn, one
 * {@link Finished} for each of these; or {@link Failed}, which ends all.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
    @JsonSubTypes.Type(value = GenerateEvent.Prompt.class, name = "prompt"),
    @JsonSubTypes.Type(value = GenerateEvent.Tokens.class, name = "tokens"),
    @JsonSubTypes.Type(value = GenerateEvent.Finished.class, name = "finished"),
    @JsonSubTypes.Type(value = GenerateEvent.Failed.class, name = "failed"),
})
@JsonInclude(JsonInclude.Include.NON_NULL)
public sealed interface GenerateEvent {

    /**
     * More of what the prompt's tokens were to the model, where that is asked for; all of it before the first token.
     *
     * @param scores of the next tokens of the prompt, from the second one on: before the first there is nothing that it
     *               could follow from
     * @param ranks  how many tokens of the vocabulary were at least as likely, each token itself included
     */
    record Prompt(Scores scores, int[] ranks) implements GenerateEvent {}

    /**
     * Tokens as they are drawn.
     *
     * @param index  which choice of the request, from 0
     * @param ids    one or more, in order; a stop token is the last
     * @param scores of these, if asked for
     */
    record Tokens(int index, int[] ids, @Nullable Scores scores) implements GenerateEvent {}

    /**
     * How likely tokens were, by the model's logits as they are: before temperature, filters and rules.
     *
     * @param logprobs    natural logarithms of their probabilities, in order; {@link #LEAST_LOGPROB} and above
     * @param topIds      for each of them the likeliest tokens, as many as were asked for, likeliest first and the lower
     *                    id first among equals; one token's behind the other's
     * @param topLogprobs of these
     */
    record Scores(float[] logprobs, int[] topIds, float[] topLogprobs) {}

    /** What is told of a token that the model excludes: JSON has no infinity. As vLLM tells it. */
    float LEAST_LOGPROB = -9_999f;

    /**
     * The end of a choice that went well.
     *
     * @param index which one; absent is 0
     * @param usage of this choice; prompt and cached tokens are those of all of them together
     */
    record Finished(
            @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) int index,
            FinishReason reason,
            Usage usage) implements GenerateEvent {

        /** Of the only choice. */
        public Finished(FinishReason reason, Usage usage) {
            this(0, reason, usage);
        }
    }

    /** The end of one that did not. */
    record Failed(FailureReason reason, String message) implements GenerateEvent {}

    /**
     * @param promptTokens     length of the prompt
     * @param cachedTokens     how many of them were found in the cache when the request was first admitted
     * @param completionTokens tokens drawn, a stop token included
     */
    record Usage(int promptTokens, int cachedTokens, int completionTokens) {}
}
