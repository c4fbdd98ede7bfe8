package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.RouterId;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One generation. The token array is handed over, not copied: nobody writes it any more.
 *
 * @param requestId    the client's {@code x-request-id}, 1 to {@link #MAX_REQUEST_ID_LENGTH} characters
 * @param workerEpoch  the life of the worker that the router chose; another life refuses. 0 = any
 * @param promptTokens at least one id
 * @param sampling     how tokens are drawn
 * @param stop         when to end
 * @param logprobs     true: every drawn token comes with its log-probability
 * @param salt         keeps this request's cache apart: {@code s:} + digest, or null
 * @param adapter      name of an adapter; not served yet, a worker refuses it by name
 * @param tenantHash   whose request this is, for later accounting; not the tenant's name
 * @param priority     lower is sooner; a worker that goes by arrival refuses anything but 0 by name
 * @param timeoutMillis the answer is worthless after this many milliseconds from arrival; 0 = no limit
 * @param handle       what the router calls this generation, to end it early by
 *                     {@link dev.warmpath.protocol.fleet.Protocol#GENERATE_PATH}{@code /}handle: 1 to
 *                     {@link #MAX_HANDLE_LENGTH} letters and digits that nobody else can guess, used once. Null = it can
 *                     only be cancelled, with its connection
 * @param router       whose request it is among routers, for heartbeats; null = it does not say
 * @param alternatives so many of the likeliest tokens are told beside each token that comes with a log-probability, 0 to
 *                     {@link #MAX_ALTERNATIVES}; absent is 0
 * @param promptLogprobs true: so does every token of the prompt but the first; the whole prompt is computed then,
 *                     whatever is cached of it. Absent is false
 * @param choices      how many answers, 1 to {@link #MAX_CHOICES}: the prompt is computed once, and they draw with the
 *                     seeds seed, seed + 1 and so on. Absent is 1
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
        long timeoutMillis,
        @Nullable String handle,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable RouterId router,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) int alternatives,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean promptLogprobs,
        @JsonSetter(nulls = Nulls.AS_EMPTY) int choices) {

    public static final int MAX_REQUEST_ID_LENGTH = 256;
    public static final int MAX_HANDLE_LENGTH = 64;
    /** OpenAI's bound. */
    public static final int MAX_ALTERNATIVES = 20;
    /** Likewise. */
    public static final int MAX_CHOICES = 128;

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
        if (handle != null && !isHandle(handle)) {
            throw new IllegalArgumentException("handle has " + handle.length() + " characters; 1 to "
                    + MAX_HANDLE_LENGTH + " letters and digits are allowed");
        }
        if (alternatives < 0 || alternatives > MAX_ALTERNATIVES) {
            throw new IllegalArgumentException(
                    "alternatives " + alternatives + " is outside 0 to " + MAX_ALTERNATIVES);
        }
        choices = choices == 0 ? 1 : choices;
        if (choices < 1 || choices > MAX_CHOICES) {
            throw new IllegalArgumentException("choices " + choices + " is outside 1 to " + MAX_CHOICES);
        }
    }

    /** A request for one answer that is never ended early. */
    public GenerateRequest(String requestId, long workerEpoch, int[] promptTokens, SamplingParameters sampling,
            StopConditions stop, boolean logprobs, @Nullable String salt, @Nullable String adapter,
            @Nullable String tenantHash, int priority, long timeoutMillis) {
        this(requestId, workerEpoch, promptTokens, sampling, stop, logprobs, salt, adapter, tenantHash, priority,
                timeoutMillis, null, null, 0, false, 1);
    }

    /** The same request of a router for one life of a worker, to be called by this name there. */
    public GenerateRequest forWorker(long epoch, String newHandle, @Nullable RouterId sender) {
        return new GenerateRequest(requestId, epoch, promptTokens, sampling, stop, logprobs, salt, adapter, tenantHash,
                priority, timeoutMillis, newHandle, sender, alternatives, promptLogprobs, choices);
    }

    /** What it asks of a worker beside what each one can. */
    public Set<Ability> needs() {
        Set<Ability> needs = EnumSet.noneOf(Ability.class);
        if (sampling.logitRules() != null || stop.minTokens() > 0) {
            needs.add(Ability.LOGIT_RULES);
        }
        if (logprobs || promptLogprobs) {
            needs.add(Ability.LOGPROBS);
        }
        if (choices > 1) {
            needs.add(Ability.CHOICES);
        }
        return needs;
    }

    /** The same request for so many answers. */
    public GenerateRequest withChoices(int count) {
        return new GenerateRequest(requestId, workerEpoch, promptTokens, sampling, stop, logprobs, salt, adapter,
                tenantHash, priority, timeoutMillis, handle, router, alternatives, promptLogprobs, count);
    }

    /** The same request with log-probabilities of drawn tokens, of the prompt's, or of both. */
    public GenerateRequest withLogprobs(boolean drawn, boolean prompt, int likeliest) {
        return new GenerateRequest(requestId, workerEpoch, promptTokens, sampling, stop, drawn, salt, adapter,
                tenantHash, priority, timeoutMillis, handle, router, likeliest, prompt, choices);
    }

    private static boolean isHandle(String text) {
        return !text.isEmpty() && text.length() <= MAX_HANDLE_LENGTH
                && text.chars().allMatch(c -> c < 0x80 && Character.isLetterOrDigit(c));
    }

    /** A request with nothing but the essentials. */
    public static GenerateRequest of(
            String requestId, int[] promptTokens, SamplingParameters sampling, StopConditions stop) {
        return new GenerateRequest(requestId, 0, promptTokens, sampling, stop, false, null, null, null, 0, 0);
    }
}
