package dev.warmpath.router.decisions;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * A request as a line of the file. Numbers and names only.
 *
 * @param at           arrival, ISO 8601, UTC
 * @param request      the answer's {@code x-request-id}
 * @param key          the name of the API key that it came with; null if none is asked for
 * @param trace        id of the trace that shows it; null if none does
 * @param model        null if nobody serves what was asked for
 * @param promptTokens null if it was not tokenized
 * @param queueMs      how long it waited for its turn at a worker; null if that did not come
 * @param decisions    every worker that it was sent to, in order; of one that ended before, the outcome is there
 * @param outcome      null only of a request whose end nobody told
 * @param promptKeys   keys of the prompt's full blocks, each 64 bits, the highest byte first, in base64; left out
 *                     unless {@code warmpath.decisions.replay} is set
 */
@JsonInclude(JsonInclude.Include.ALWAYS)
@JsonNaming(SnakeCaseStrategy.class)
record RequestView(
        String at,
        String request,
        @Nullable String key,
        @Nullable String trace,
        String endpoint,
        @Nullable String model,
        AskedView asked,
        @Nullable Integer promptTokens,
        @Nullable Double queueMs,
        List<DecisionView> decisions,
        @Nullable EndView outcome,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String promptKeys) {

    /** As {@link RequestRecord.Asked}, without what stands beside it. */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    record AskedView(boolean streamed, @Nullable Integer messages, int choices, int maxTokens,
            @Nullable Float temperature, @Nullable Integer topK, @Nullable Float topP, int stopStrings,
            int stopTokens, boolean ignoreEos) {}

    /** As {@link RequestRecord.End} and {@link RequestRecord.Answer}; times since the arrival. */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    record EndView(String end, @Nullable String error, @Nullable Double firstTextMs, double totalMs,
            @Nullable String finishReason, @Nullable Integer cachedTokens, @Nullable Integer completionTokens) {}

    static RequestView of(RequestRecord request) {
        RequestRecord.Asked asked = request.asked();
        return new RequestView(request.at().toString(), asked.requestId(), asked.key(), request.traceId(),
                asked.endpoint(), request.model(),
                new AskedView(asked.streamed(), asked.messages(), asked.choices(), asked.maxTokens(), asked.temperature(),
                        asked.topK(), asked.topP(), asked.stopStrings(), asked.stopTokens(), asked.ignoreEos()),
                request.promptTokens(), Millis.orNull(request.queueNanos()), request.decisions().stream()
                        .map(decision -> DecisionView.of(decision, request.promptKeys() != null)).toList(),
                request.end() == null ? null : outcome(request, request.end()), base64(request.promptKeys()));
    }

    private static @Nullable String base64(long @Nullable [] keys) {
        if (keys == null) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.allocate(keys.length * Long.BYTES);
        bytes.asLongBuffer().put(keys);
        return Base64.getEncoder().encodeToString(bytes.array());
    }

    private static EndView outcome(RequestRecord request, RequestRecord.End end) {
        RequestRecord.Answer answer = request.answer();
        return new EndView(end.end(), end.error(), Millis.orNull(request.firstTextNanos()),
                Millis.of(end.totalNanos()),
                answer == null ? null : answer.finishReason(), answer == null ? null : answer.cachedTokens(),
                answer == null ? null : answer.completionTokens());
    }
}
