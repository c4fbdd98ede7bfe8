package dev.warmpath.router.metrics;

import io.micrometer.core.instrument.Counter;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What one name's keys were used for. Looked up once for each key. */
public final class KeyMeters {

    private final String key;
    private final RouterMetrics metrics;
    private final Map<String, Counter> refusals = new ConcurrentHashMap<>();
    private final Counter requests;
    private final Counter promptTokens;
    private final Counter completionTokens;

    KeyMeters(String key, RouterMetrics metrics) {
        this.key = key;
        this.metrics = metrics;
        this.requests = metrics.counter(RouterMeter.KEY_REQUESTS, "key", key);
        this.promptTokens = metrics.counter(RouterMeter.KEY_TOKENS, "key", key, "of", "prompt");
        this.completionTokens = metrics.counter(RouterMeter.KEY_TOKENS, "key", key, "of", "completion");
    }

    public void letIn() {
        requests.increment();
    }

    /** @param cause one of the closed set of refusals */
    public void refused(String cause) {
        refusals.computeIfAbsent(cause, _ -> metrics.counter(RouterMeter.KEY_REFUSALS, "key", key, "cause", cause))
                .increment();
    }

    public void used(int prompt, int completion) {
        promptTokens.increment(prompt);
        completionTokens.increment(completion);
    }
}
