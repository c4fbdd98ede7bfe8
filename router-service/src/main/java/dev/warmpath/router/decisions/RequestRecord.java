package dev.warmpath.router.decisions;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One client's request from its arrival to the end of its answer: what was asked for in numbers, where it went, what
 * came of it. No text of prompt or answer. Whoever answers the request tells what happens, in order and on one thread
 * at a time.
 */
public final class RequestRecord implements AutoCloseable {

    private final Instant at;
    private final Asked asked;
    private final @Nullable String traceId;
    private final Consumer<RequestRecord> whenClosed;
    private final List<Decision> decisions = new ArrayList<>(1);
    private @Nullable String model;
    private @Nullable Integer promptTokens;
    private @Nullable Long queueNanos;
    private @Nullable Long firstTextNanos;
    private @Nullable Answer answer;
    private @Nullable End end;
    private long @Nullable [] promptKeys;

    /**
     * What the client asks for.
     *
     * @param requestId    as in the answer's {@code x-request-id}
     * @param key          the name of the caller's key; null if none is asked for
     * @param endpoint     {@code chat} or {@code completions}
     * @param messages     of a chat; null if it is none
     * @param choices      answers to its prompt
     * @param maxTokens    of each answer
     * @param temperature  null: the model's default, as for the two that follow
     * @param stopStrings  how many
     * @param stopTokens   how many
     */
    public record Asked(String requestId, @Nullable String key, String endpoint, boolean streamed,
            @Nullable Integer messages, int choices, int maxTokens, @Nullable Float temperature, @Nullable Integer topK,
            @Nullable Float topP, int stopStrings, int stopTokens, boolean ignoreEos) {}

    /**
     * What the client got, in whole.
     *
     * @param finishReason     as the worker or a stop string ended it
     * @param cachedTokens     of the prompt, found by the worker; null if it did not tell
     * @param completionTokens drawn by the worker
     */
    public record Answer(String finishReason, @Nullable Integer cachedTokens, int completionTokens) {}

    /**
     * @param end        as in the meter of requests
     * @param error      what was wrong: the cause of a failure as in the meter of failures, the fault of a request that
     *                   was refused; null if nothing was
     * @param totalNanos since the arrival
     */
    record End(String end, @Nullable String error, long totalNanos) {}

    /**
     * @param traceId    of the trace that shows it; null if none does
     * @param whenClosed is given it once it is whole
     */
    public RequestRecord(Instant at, Asked asked, @Nullable String traceId, Consumer<RequestRecord> whenClosed) {
        this.at = at;
        this.asked = asked;
        this.traceId = traceId;
        this.whenClosed = whenClosed;
    }

    /** @param name of a model that is served here: what a client writes may be anything */
    public void served(String name) {
        model = name;
    }

    public void tokenized(int tokens) {
        promptTokens = tokens;
    }

    /** Its turn has come. Of a request that stood in two lines, the last one. */
    public void turn(long waitedNanos) {
        queueNanos = waitedNanos;
    }

    public void firstText(long sinceArrivalNanos) {
        firstTextNanos = sinceArrivalNanos;
    }

    public void answered(Answer whole) {
        answer = whole;
    }

    /** See {@link End}. */
    public void ended(String how, @Nullable String error, long sinceArrivalNanos) {
        end = new End(how, error, sinceArrivalNanos);
    }

    /** Nothing more is told, of its decisions neither. */
    @Override
    public void close() {
        whenClosed.accept(this);
    }

    /** @param keys of its full blocks; handed over */
    void prompt(long[] keys) {
        promptKeys = keys;
    }

    /** Null if they are not to be written. */
    long @Nullable [] promptKeys() {
        return promptKeys;
    }

    void add(Decision decision) {
        decisions.add(decision);
    }

    Instant at() {
        return at;
    }

    Asked asked() {
        return asked;
    }

    @Nullable String traceId() {
        return traceId;
    }

    @Nullable String model() {
        return model;
    }

    @Nullable Integer promptTokens() {
        return promptTokens;
    }

    @Nullable Long queueNanos() {
        return queueNanos;
    }

    @Nullable Long firstTextNanos() {
        return firstTextNanos;
    }

    @Nullable Answer answer() {
        return answer;
    }

    @Nullable End end() {
        return end;
    }

    List<Decision> decisions() {
        return decisions;
    }
}
