package dev.warmpath.router.metrics;

import dev.warmpath.router.metrics.RouterMetrics.Outcome;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Timer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * One model's meters, as its clients see it. They are looked up once: what is recorded for each token of a stream
 * allocates nothing here.
 */
public final class ModelMeters {

    private final String model;
    private final RouterMetrics metrics;
    /** By endpoint, of which there are few: what has ended in which way, each from the first on. */
    private final Map<String, AtomicReferenceArray<@Nullable Counter>> ended = new ConcurrentHashMap<>();
    private final Timer queueWait;
    private final Timer firstToken;
    private final Timer betweenTokens;
    private final Timer duration;
    private final Counter promptTokens;
    private final Counter completionTokens;
    private final Counter fleetCachedTokens;
    private final Counter predictedCachedTokens;
    private final Counter cachedTokens;
    private final DistributionSummary cachedTokensError;
    private final Timer predictedFirstToken;
    private final Timer attemptFirstToken;
    private final Timer firstTokenError;

    ModelMeters(String model, RouterMetrics metrics) {
        this.model = model;
        this.metrics = metrics;
        this.queueWait = metrics.timer(RouterMeter.QUEUE_WAIT, "model", model);
        this.firstToken = metrics.timer(RouterMeter.TIME_TO_FIRST_TOKEN, "model", model);
        this.betweenTokens = metrics.timer(RouterMeter.INTER_TOKEN_LATENCY, "model", model);
        this.duration = metrics.timer(RouterMeter.REQUEST_DURATION, "model", model);
        this.promptTokens = metrics.counter(RouterMeter.PROMPT_TOKENS, "model", model);
        this.completionTokens = metrics.counter(RouterMeter.COMPLETION_TOKENS, "model", model);
        this.fleetCachedTokens = metrics.counter(RouterMeter.FLEET_CACHED_TOKENS, "model", model);
        this.predictedCachedTokens = metrics.counter(RouterMeter.PREDICTED_CACHED_TOKENS, "model", model);
        this.cachedTokens = metrics.counter(RouterMeter.ACTUAL_CACHED_TOKENS, "model", model);
        this.cachedTokensError = metrics.summary(RouterMeter.CACHED_TOKENS_ERROR, "model", model);
        this.predictedFirstToken = metrics.timer(RouterMeter.PREDICTED_FIRST_TOKEN, "model", model);
        this.attemptFirstToken = metrics.timer(RouterMeter.ATTEMPT_FIRST_TOKEN, "model", model);
        this.firstTokenError = metrics.timer(RouterMeter.FIRST_TOKEN_ERROR, "model", model);
    }

    /** @param api one of the few that answer with generated text */
    Counter ended(String api, Outcome outcome) {
        var outcomes = ended.computeIfAbsent(api, _ -> new AtomicReferenceArray<>(Outcome.values().length));
        Counter known = outcomes.get(outcome.ordinal());
        if (known == null) {
            known = metrics.counter(RouterMeter.REQUESTS,
                    "api", api, "model", model, "outcome", RouterMetrics.tag(outcome));
            outcomes.set(outcome.ordinal(), known);
        }
        return known;
    }

    /** A request's turn at a worker has come. */
    public void turn(long waitedNanos) {
        queueWait.record(waitedNanos, TimeUnit.NANOSECONDS);
    }

    /** The first text of an answer is there. */
    public void firstToken(long sinceArrivalNanos) {
        firstToken.record(sinceArrivalNanos, TimeUnit.NANOSECONDS);
    }

    /** One more text of a streamed answer is there. */
    public void nextToken(long sinceLastNanos) {
        betweenTokens.record(sinceLastNanos, TimeUnit.NANOSECONDS);
    }

    /** An answer has ended well. */
    public void answered(long sinceArrivalNanos) {
        duration.record(sinceArrivalNanos, TimeUnit.NANOSECONDS);
    }

    public void finished(int promptTokens, int completionTokens) {
        this.promptTokens.increment(promptTokens);
        this.completionTokens.increment(completionTokens);
    }

    /**
     * What could be reused, what was to be, and what was, of one completion; not where the worker did not tell, so that
     * they can be compared.
     *
     * @param somewhere expected at the worker with the most
     * @param predicted expected at the chosen one
     */
    public void cached(int somewhere, int predicted, int actual) {
        fleetCachedTokens.increment(somewhere);
        predictedCachedTokens.increment(predicted);
        cachedTokens.increment(actual);
        cachedTokensError.record(Math.abs(predicted - actual));
    }

    /** Prediction and truth of one attempt that has had a first token, both since the decision. */
    public void firstTokenOfAttempt(long predictedNanos, long actualNanos) {
        predictedFirstToken.record(predictedNanos, TimeUnit.NANOSECONDS);
        attemptFirstToken.record(actualNanos, TimeUnit.NANOSECONDS);
        firstTokenError.record(Math.abs(predictedNanos - actualNanos), TimeUnit.NANOSECONDS);
    }
}
