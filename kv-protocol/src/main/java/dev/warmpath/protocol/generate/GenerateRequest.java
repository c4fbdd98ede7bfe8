package dev.warmpath.protocol.generate;

import org.jspecify.annotations.Nullable;

/**
 * One generation. The token array is handed over, not copied: nobody writes it any more.
 *
 * @param requestId    the client's {@code x-request-id}, 1 to {@link #MAX_REQUEST_ID_LENGTH} characters
 * @param workerEpoch  the life of the worker that the router chose; another life refuses. 0 = any
 * @param promptTokens at least one id
 * @param sampling     how tokens are drawn
 * @param stop         when to end
 * @param logprobs     true: every token comes with its log-probability
 * @param salt         keeps this request's cache apart: {@code s:} + digest, or null
 * @param adapter      name of an adapter; not served yet, a worker refuses it by name
 * @param tenantHash   whose request this is, for later accounting; not the tenant's name
 * @param priority     lower is sooner; a worker that goes by arrival refuses anything but 0 by name
 * @param timeoutMillis the answer is worthless after this many milliseconds from arrival; 0 = no limit
 */
public record GenerateRequest(
        String requestId,
        long workerEpoch,
        int[] promptTokens,
        SamplingParameters sampling,
        StopConditions stop,
        boolean logprobs,
        @Nullable String salt,
        @Nullable String adapter,
        @Nullable String tenantHash,
        int priority,
        long timeoutMillis) {

    public static final int MAX_REQUEST_ID_LENGTH = 256;

    public GenerateRequest {
        if (requestId.isEmpty() || requestId.length() > MAX_REQUEST_ID_LENGTH) {
            throw new IllegalArgumentException("requestId has " + requestId.length() + " characters, 1 to "
                    + MAX_REQUEST_ID_LENGTH + " are allowed");
        }
        if (promptTokens.length == 0) {
            throw new IllegalArgumentException("promptTokens is empty");
        }
        if (timeoutMillis < 0) {
            throw new IllegalArgumentException("timeoutMillis " + timeoutMillis + " is negative");
        }
    }

    /** The same request for one life of a worker. */
    public GenerateRequest withEpoch(long epoch) {
        return new GenerateRequest(requestId, epoch, promptTokens, sampling, stop, logprobs, salt, adapter, tenantHash,
                priority, timeoutMillis);
    }

    /** A request with nothing but the essentials. */
    public static GenerateRequest of(
            String requestId, int[] promptTokens, SamplingParameters sampling, StopConditions stop) {
        return new GenerateRequest(requestId, 0, promptTokens, sampling, stop, false, null, null, null, 0, 0);
    }
}
