package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A whole answer or one chunk of a stream; both endpoints share the outer shape.
 *
 * @param usage null except in a whole answer and in the last chunk of a stream that was asked for it
 */
@JsonPropertyOrder({"id", "object", "created", "model", "system_fingerprint", "choices", "usage"})
record AnswerBody(
        String id,
        String object,
        long created,
        String model,
        @JsonProperty("system_fingerprint") String systemFingerprint,
        List<?> choices,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable AnswerUsage usage) {

    static AnswerBody of(AnswerFormat.Head head, String object, List<?> choices, @Nullable AnswerUsage usage) {
        return new AnswerBody(head.id(), object, head.created(), head.model(), head.systemFingerprint(), choices,
                usage);
    }
}
