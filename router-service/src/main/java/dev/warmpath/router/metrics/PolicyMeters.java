package dev.warmpath.router.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;

/** What came of the requests that one routing policy placed, so that two can be compared. Looked up once a request. */
public final class PolicyMeters {

    private final Timer firstToken;
    private final Counter promptTokens;
    private final Counter cachedTokens;

    PolicyMeters(String policy, RouterMetrics metrics) {
        this.firstToken = metrics.timer(RouterMeter.POLICY_FIRST_TOKEN, "policy", policy);
        this.promptTokens = metrics.counter(RouterMeter.POLICY_PROMPT_TOKENS, "policy", policy);
        this.cachedTokens = metrics.counter(RouterMeter.POLICY_CACHED_TOKENS, "policy", policy);
    }

    /** The first text of an answer is there. */
    public void firstToken(long sinceArrivalNanos) {
        firstToken.record(sinceArrivalNanos, TimeUnit.NANOSECONDS);
    }

    /** A prompt, and what its worker found of it; not where the worker did not tell. */
    public void cached(int promptTokens, int cachedTokens) {
        this.promptTokens.increment(promptTokens);
        this.cachedTokens.increment(cachedTokens);
    }
}
