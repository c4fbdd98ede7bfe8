package dev.warmpath.router.tracing;

import io.micrometer.observation.Observation;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One try at one worker as it is observed. */
public final class AttemptTrace {

    private static final Observation.Event FIRST_TOKEN = Observation.Event.of("first_token");

    private final @Nullable Observation observation;
    private final Observed.@Nullable Attempt attempt;
    private final Map<String, String> headers;

    /** The first two are null where the trace is not sampled. */
    AttemptTrace(@Nullable Observation observation, Observed.@Nullable Attempt attempt, Map<String, String> headers) {
        this.observation = observation;
        this.attempt = attempt;
        this.headers = headers;
    }

    /** For the worker: whose work this is; none where tracing is off. */
    public Map<String, String> headers() {
        return headers;
    }

    public void firstToken() {
        if (observation != null) {
            observation.event(FIRST_TOKEN);
        }
    }

    public void usage(int cachedTokens) {
        if (attempt != null) {
            attempt.cachedTokens = cachedTokens;
        }
    }

    /** @param failure of dispatch's closed set; null: answered, or not wanted any more */
    public void ended(@Nullable String failure) {
        if (observation != null && attempt != null) {
            attempt.failure = failure;
            observation.stop();
        }
    }
}
