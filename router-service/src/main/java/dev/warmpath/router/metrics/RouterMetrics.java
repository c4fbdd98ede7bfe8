package dev.warmpath.router.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.springframework.stereotype.Component;

/**
 * Records the router's meters. Tags take few values: models, workers and keys beyond {@link #MAX_SERIES} count as one.
 */
@Component
public final class RouterMetrics {

    /** As many names as llm-d tells apart, see its docs/metrics.md. */
    static final int MAX_SERIES = 1_000;
    static final String OTHER = "other";
    /** Who brings no key that is known; no key has this name. */
    private static final String STRANGER = "-";

    private final MeterRegistry registry;
    private final Map<String, ModelMeters> models = new ConcurrentHashMap<>();
    private final ModelMeters otherModels;
    private final Map<String, PolicyMeters> policies = new ConcurrentHashMap<>();
    private final Map<String, KeyMeters> keys = new ConcurrentHashMap<>();
    private final Map<String, Counter> decisions = new ConcurrentHashMap<>();
    private final WorkerMeters workers;
    private final ServedMeters served;
    private final Timer tokenizerWait;
    private final Timer eventLoopDelay;
    private final Map<Stage, Timer> stages = new EnumMap<>(Stage.class);

    public RouterMetrics(MeterRegistry registry) {
        this.registry = registry;
        this.otherModels = new ModelMeters(OTHER, this);
        this.workers = new WorkerMeters(this, registry);
        this.served = new ServedMeters(this, registry);
        this.tokenizerWait = timer(RouterMeter.TOKENIZER_WAIT);
        this.eventLoopDelay = timer(RouterMeter.EVENT_LOOP_DELAY);
        for (Stage stage : Stage.values()) {
            stages.put(stage, timer(RouterMeter.STAGE, "stage", tag(stage)));
        }
        counter(RouterMeter.DECISIONS_DISCARDED);
        counter(RouterMeter.INDEX_CHANGES);
        counter(RouterMeter.INDEX_GAPS);
        counter(RouterMeter.INDEX_DRIFT);
        counter(RouterMeter.INDEX_REJECTED_BATCHES);
        for (ReloadSource source : ReloadSource.values()) {
            expect(RouterMeter.INDEX_RELOADS, "source", tag(source));
        }
        for (Limit limit : Limit.values()) {
            expect(RouterMeter.ADMISSION_REFUSALS, "limit", tag(limit));
        }
    }

    /** How a completion ended; the tag's value is the name in lower case. */
    public enum Outcome { ANSWERED, REFUSED, OVERLOADED, FAILED, CANCELLED }

    /** What the router does itself; the tag's value is the name in lower case. */
    public enum Stage { TOKENIZE, HASH, ROUTE }

    /** Where a copy of a worker's set came from; the tag's value is the name in lower case. */
    public enum ReloadSource { CHECKPOINT, WORKER, STREAM }

    /** What the door can run out of; the tag's value is the name in lower case. */
    public enum Limit { PLACES, BYTES, THREADS, WAIT }

    /** Whether a worker gets requests, or why not; the tag's value is the name in lower case. */
    public enum WorkerState { JOINING, READY, DRAINING, HANGING, EJECTED, ON_TRIAL, UNREACHABLE }

    /** @param value asked whenever somebody reads the gauge; in the meter's unit */
    public Gauge watch(RouterMeter meter, Supplier<Number> value, String... tags) {
        return Gauge.builder(meter.meterName(), value).description(meter.description()).baseUnit(meter.unit())
                .tags(tags).register(registry);
    }

    /**
     * A counter that somebody else keeps.
     *
     * @param keeper held weakly: whoever uses it has to hold it
     * @param count  since the start, never less than before; asked whenever somebody reads the counter
     */
    public <T> void follow(RouterMeter meter, T keeper, ToDoubleFunction<T> count, String... tags) {
        FunctionCounter.builder(meter.meterName(), keeper, count).description(meter.description())
                .baseUnit(meter.unit()).tags(tags).register(registry);
    }

    /** A counter of these tags begins at 0: a rate needs that before the first event. */
    public void expect(RouterMeter meter, String... tags) {
        counter(meter, tags);
    }

    /** @param name of a model that is served: a client's words must not make series */
    public ModelMeters model(String name) {
        ModelMeters known = models.get(name);
        return known == null ? newModel(name) : known;
    }

    private synchronized ModelMeters newModel(String name) {
        return models.size() < MAX_SERIES ? models.computeIfAbsent(name, _ -> new ModelMeters(name, this))
                : models.getOrDefault(name, otherModels);
    }

    /** What is counted for no model in particular. */
    public ModelMeters otherModels() {
        return otherModels;
    }

    /** @param cause one of the closed set of refusals */
    public void strangerRefused(String cause) {
        count(RouterMeter.KEY_REFUSALS, 1, "key", STRANGER, "cause", cause);
    }

    /** @param name of a key that is accepted */
    public synchronized KeyMeters key(String name) {
        String series = keys.size() < MAX_SERIES || keys.containsKey(name) ? name : OTHER;
        return keys.computeIfAbsent(series, _ -> new KeyMeters(series, this));
    }

    /** @param name one of routing's closed set */
    public PolicyMeters policy(String name) {
        return policies.computeIfAbsent(name, _ -> new PolicyMeters(name, this));
    }

    public void refusedAtTheDoor(Limit limit) {
        count(RouterMeter.ADMISSION_REFUSALS, 1, "limit", tag(limit));
    }

    /** @param code of the error's body, one of a few dozen */
    public void errorAnswered(String code) {
        count(RouterMeter.ERROR_ANSWERS, 1, "code", code);
    }

    /** @param kind one of the template's closed set */
    public void templateFailed(String kind) {
        count(RouterMeter.TEMPLATE_FAILURES, 1, "kind", kind);
    }

    /** A computation has got its thread. */
    public void gotThread(long waitedNanos) {
        tokenizerWait.record(waitedNanos, TimeUnit.NANOSECONDS);
    }

    /** An event loop has run what was due so long before. */
    public void eventLoopWasLate(long nanos) {
        eventLoopDelay.record(nanos, TimeUnit.NANOSECONDS);
    }

    /** @param api one of the few that answer with generated text */
    public void requestEnded(String api, ModelMeters model, Outcome outcome) {
        model.ended(api, outcome).increment();
    }

    /** A stage of a request is done. */
    public void staged(Stage stage, long nanos) {
        stages.get(stage).record(nanos, TimeUnit.NANOSECONDS);
    }

    /** @param reason one of routing's closed set */
    public void routed(String reason) {
        decisions.computeIfAbsent(reason, _ -> counter(RouterMeter.ROUTE_DECISIONS, "reason", reason)).increment();
    }

    /**
     * A shadow policy was asked, too.
     *
     * @param live         the policy that decided, one of routing's closed set
     * @param shadow       the other one, likewise
     * @param liveTokens   uncached tokens where the request goes
     * @param shadowTokens where it would have gone
     */
    public void shadowed(String live, String shadow, boolean choseTheSame, long liveTokens, long shadowTokens) {
        count(RouterMeter.SHADOW_DECISIONS, 1,
                "live", live, "policy", shadow, "choice", choseTheSame ? "same" : "other");
        count(RouterMeter.SHADOW_UNCACHED_TOKENS, liveTokens, "live", live, "policy", shadow, "by", "live");
        count(RouterMeter.SHADOW_UNCACHED_TOKENS, shadowTokens, "live", live, "policy", shadow, "by", "shadow");
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

    /** @param outcome as in the record of the decision */
    public void attemptEnded(String workerId, String outcome) {
        workers.attemptEnded(workerId, outcome);
    }

    /**
     * Tells what is there of the fleet, and forgets in time what has left. To be called once a second.
     *
     * @param states of all workers, by id
     * @param ready  by model, how many workers may be asked for it
     */
    public void fleet(Map<String, WorkerState> states, Map<String, Integer> ready) {
        workers.see(states);
        served.see(ready);
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
        counter(meter, tags).increment(amount);
    }

    Counter counter(RouterMeter meter, String... tags) {
        return Counter.builder(meter.meterName()).description(meter.description()).baseUnit(meter.unit()).tags(tags)
                .register(registry);
    }

    Timer timer(RouterMeter meter, String... tags) {
        var timer = Timer.builder(meter.meterName()).description(meter.description()).tags(tags);
        if (meter.kind() == RouterMeter.Kind.LATENCY) {
            timer.serviceLevelObjectives(Buckets.LATENCIES);
        }
        return timer.register(registry);
    }

    DistributionSummary summary(RouterMeter meter, String... tags) {
        return DistributionSummary.builder(meter.meterName()).description(meter.description()).baseUnit(meter.unit())
                .tags(tags).serviceLevelObjectives(Buckets.TOKENS).register(registry);
    }

    static String tag(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
