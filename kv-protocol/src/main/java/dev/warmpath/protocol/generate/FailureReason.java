package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Why a worker did not answer, or stopped answering. Another worker may be asked where {@link #isRetryable()}. */
public enum FailureReason {
    /** The request is wrong as it stands. */
    @JsonProperty("invalid_request")
    INVALID_REQUEST(false),
    /** A field asks for what this worker does not do. */
    @JsonProperty("unsupported")
    UNSUPPORTED(false),
    /** The worker was started anew since the router chose it. */
    @JsonProperty("wrong_epoch")
    WRONG_EPOCH(true),
    /** The worker's queue is full. */
    @JsonProperty("queue_full")
    QUEUE_FULL(true),
    /** The worker is going away. */
    @JsonProperty("shutting_down")
    SHUTTING_DOWN(true),
    /** The request's time was up. */
    @JsonProperty("deadline_exceeded")
    DEADLINE_EXCEEDED(false),
    /** The device or the engine failed on this step. */
    @JsonProperty("engine_failure")
    ENGINE_FAILURE(true),
    /** The model computes no number that a token could be drawn from, for this request; others are served. */
    @JsonProperty("unusable_logits")
    UNUSABLE_LOGITS(false),
    /** The request's own {@link LogitRules} leave no token that could be drawn: no fault of model or worker. */
    @JsonProperty("rules_leave_nothing")
    RULES_LEAVE_NOTHING(false);

    private final boolean retryable;

    FailureReason(boolean retryable) {
        this.retryable = retryable;
    }

    /** True if the same request may succeed on another worker. */
    public boolean isRetryable() {
        return retryable;
    }
}
