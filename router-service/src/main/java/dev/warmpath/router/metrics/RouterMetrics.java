package dev.warmpath.router.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.springframework.stereotype.Component;

/** Records the router's meters. Tags take few values: model names beyond {@link #MAX_MODELS} are counted as one. */
@Component
public final class RouterMetrics {

    static final int MAX_MODELS = 100;
    private static final String OTHER_MODELS = "other";

    private final MeterRegistry registry;
    private final Set<String> models = ConcurrentHashMap.newKeySet();

    public RouterMetrics(MeterRegistry registry) {
        this.registry = registry;
        decisionsDiscarded(0);
        count(RouterMeter.INDEX_GAPS, 0);                          // a rate needs a zero before the first event
        count(RouterMeter.INDEX_DRIFT, 0);
        count(RouterMeter.INDEX_REJECTED_BATCHES, 0);
        for (ReloadSource source : ReloadSource.values()) {
            count(RouterMeter.INDEX_RELOADS, 0, "source", tag(source));
        }
        for (Limit limit : Limit.values()) {
            count(RouterMeter.ADMISSION_REFUSALS, 0, "limit", tag(limit));
        }
    }

    /** How a completion ended; the tag's value is the name in lower case. */
    public enum Outcome { ANSWERED, REFUSED, OVERLOADED, FAILED, CANCELLED }

    /** What the router does itself; the tag's value is the name in lower case. */
    public enum Stage { TOKENIZE, ROUTE }

    /** Where a copy of a worker's set came from; the tag's value is the name in lower case. */
    public enum ReloadSource { CHECKPOINT, WORKER, STREAM }

    /** What the door can run out of; the tag's value is the name in lower case. */
    public enum Limit { PLACES, BYTES, WAIT }

    public void watchAdmission(Supplier<Number> inFlight, Supplier<Number> bodyBytes) {
        watch(RouterMeter.REQUESTS_IN_FLIGHT, inFlight);
        watch(RouterMeter.BODY_BYTES, bodyBytes);
    }

    public void refusedAtTheDoor(Limit limit) {
        count(RouterMeter.ADMISSION_REFUSALS, 1, "limit", tag(limit));
    }

    /** @param value asked whenever somebody reads the gauge; in the meter's unit */
    public void watch(RouterMeter meter, Supplier<Number> value, String... tags) {
        Gauge.builder(meter.meterName(), value).description(meter.description()).baseUnit(meter.unit()).tags(tags)
                .register(registry);
    }

    /** @param endpoint one of the few that answer with generated text */
    public void requestEnded(String endpoint, Outcome outcome) {
        count(RouterMeter.REQUESTS, 1, "endpoint", endpoint, "outcome", tag(outcome));
    }

    /** Runs the work and times it. */
    public <T> T timed(Stage stage, Supplier<T> work) {
        var meter = RouterMeter.STAGE;
        return Timer.builder(meter.meterName()).description(meter.description()).tag("stage", tag(stage))
                .register(registry).record(work);
    }

    /** @param reason one of routing's closed set */
    public void routed(String reason) {
        count(RouterMeter.ROUTE_DECISIONS, 1, "reason", reason);
    }

    public void decisionsDiscarded(int decisions) {
        count(RouterMeter.DECISIONS_DISCARDED, decisions);
    }

    /** @param cause one of dispatch's closed set */
    public void attemptFailed(String cause) {
        count(RouterMeter.DISPATCH_FAILURES, 1, "cause", cause);
    }

    /** @param cause one of dispatch's closed set */
    public void retried(String cause) {
        count(RouterMeter.DISPATCH_RETRIES, 1, "cause", cause);
    }

    /** @param cause one of dispatch's closed set */
    public void retryRefused(String cause) {
        count(RouterMeter.DISPATCH_RETRIES_REFUSED, 1, "cause", cause);
    }

    public void firstToken(String model, Duration sinceArrival) {
        var meter = RouterMeter.TIME_TO_FIRST_TOKEN;
        Timer.builder(meter.meterName()).description(meter.description()).tag("model", bounded(model))
                .publishPercentileHistogram().register(registry).record(sinceArrival);
    }

    public void finished(String model, int promptTokens, int completionTokens) {
        String tag = bounded(model);
        count(RouterMeter.PROMPT_TOKENS, promptTokens, "model", tag);
        count(RouterMeter.COMPLETION_TOKENS, completionTokens, "model", tag);
    }

    /** Prediction and truth of one completion; none where the worker did not tell, so that the two can be compared. */
    public void cached(String model, int predictedCached, int actualCached) {
        String tag = bounded(model);
        count(RouterMeter.PREDICTED_CACHED_TOKENS, predictedCached, "model", tag);
        count(RouterMeter.ACTUAL_CACHED_TOKENS, actualCached, "model", tag);
        var error = RouterMeter.CACHED_TOKENS_ERROR;
        DistributionSummary.builder(error.meterName()).description(error.description()).baseUnit(error.unit())
                .tag("model", tag).register(registry).record(Math.abs(predictedCached - actualCached));
    }

    public void changesApplied(int keys) {
        count(RouterMeter.INDEX_CHANGES, keys);
    }

    public void gapFound() {
        count(RouterMeter.INDEX_GAPS, 1);
    }

    public void driftFound() {
        count(RouterMeter.INDEX_DRIFT, 1);
    }

    public void reloaded(ReloadSource source) {
        count(RouterMeter.INDEX_RELOADS, 1, "source", tag(source));
    }

    public void batchRejected() {
        count(RouterMeter.INDEX_REJECTED_BATCHES, 1);
    }

    private void count(RouterMeter meter, double amount, String... tags) {
        Counter.builder(meter.meterName()).description(meter.description()).baseUnit(meter.unit()).tags(tags)
                .register(registry).increment(amount);
    }

    private String bounded(String model) {
        return models.contains(model) || models.size() < MAX_MODELS && models.add(model) ? model : OTHER_MODELS;
    }

    private static String tag(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
