package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Why a generation ended well, in OpenAI's words. */
public enum FinishReason {
    /** An end-of-sequence or stop token was drawn. */
    @JsonProperty("stop")
    STOP,
    /** The request's token limit or the model's context was reached. */
    @JsonProperty("length")
    LENGTH
}
