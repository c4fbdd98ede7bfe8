package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import dev.warmpath.protocol.fleet.RouterId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A {@link GenerateRequest} as routers send it to workers that say they take it: its prompt as bytes, which takes a tenth
 * of the time that decimal numbers take at either end.
 * <pre>
 *   {"requestId":…,"router":…}  '\n'  id₀ id₁ id₂ …
 *   JSON of {@link Head}, one line    4 bytes each, the lowest first, to the end of the body
 * </pre>
 */
public final class PackedRequest {

    public static final String CONTENT_TYPE = "application/x-warmpath-generate";

    /** All of a request but its prompt, by the same names. */
    public record Head(
            String requestId,
            long workerEpoch,
            SamplingParameters sampling,
            StopConditions stop,
            boolean logprobs,
            @Nullable String salt,
            @Nullable String adapter,
            @Nullable String tenantHash,
            int priority,
            long timeoutMillis,
            @Nullable String handle,
            @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable RouterId router,
            @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) int alternatives,
            @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean promptLogprobs,
            @JsonSetter(nulls = Nulls.AS_EMPTY) int choices) {

        public Head {
            if (requestId == null || sampling == null || stop == null) {
                throw new IllegalArgumentException("requestId, sampling and stop have to be told");
            }
        }

        public static Head of(GenerateRequest request) {
            return new Head(request.requestId(), request.workerEpoch(), request.sampling(), request.stop(),
                    request.logprobs(), request.salt(), request.adapter(), request.tenantHash(), request.priority(),
                    request.timeoutMillis(), request.handle(), request.router(), request.alternatives(),
                    request.promptLogprobs(), request.choices());
        }

        /** @throws IllegalArgumentException as of {@link GenerateRequest} */
        public GenerateRequest with(int[] promptTokens) {
            return new GenerateRequest(requestId, workerEpoch, promptTokens, sampling, stop, logprobs, salt, adapter,
                    tenantHash, priority, timeoutMillis, handle, router, alternatives, promptLogprobs, choices);
        }
    }

    private PackedRequest() {}

    /** @param head JSON without a line break */
    public static byte[] pack(byte[] head, int[] promptTokens) {
        byte[] body = Arrays.copyOf(head, head.length + 1 + Integer.BYTES * promptTokens.length);
        body[head.length] = '\n';
        ids(body, head.length).put(promptTokens);
        return body;
    }

    /**
     * Where the JSON ends.
     *
     * @throws IllegalArgumentException if it does not end, or if what follows is no whole number of ids
     */
    public static int headLength(byte[] body) {
        int length = 0;
        while (length < body.length && body[length] != '\n') {
            length++;
        }
        if (length == body.length) {
            throw new IllegalArgumentException("the body has no line break behind its JSON");
        }
        int idBytes = body.length - length - 1;
        if (idBytes % Integer.BYTES != 0) {
            throw new IllegalArgumentException(idBytes + " bytes of prompt ids, each has " + Integer.BYTES);
        }
        return length;
    }

    /** The prompt behind a head of that length. */
    public static int[] promptTokens(byte[] body, int headLength) {
        int[] promptTokens = new int[(body.length - headLength - 1) / Integer.BYTES];
        ids(body, headLength).get(promptTokens);
        return promptTokens;
    }

    private static IntBuffer ids(byte[] body, int headLength) {
        return ByteBuffer.wrap(body, headLength + 1, body.length - headLength - 1).order(ByteOrder.LITTLE_ENDIAN)
                .asIntBuffer();
    }
}
