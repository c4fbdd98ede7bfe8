package dev.warmpath.router.tracing;

import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import io.micrometer.observation.Observation;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What is observed of a request, in the router's own words: numbers, and names of closed sets or of what is served. */
abstract sealed class Observed extends Observation.Context {

    /** Why it did not end well, from a closed set; null if it did. */
    volatile @Nullable String failure;

    /** The way from the request to the end of its answer. */
    static final class Answer extends Observed {
        final RequestRecord.Asked asked;
        volatile @Nullable String model;
        volatile int promptTokens;
        volatile @Nullable String revision;
        volatile RequestRecord.@Nullable Answer answer;
        volatile @Nullable Long firstTextNanos;

        Answer(RequestRecord.Asked asked) {
            this.asked = asked;
        }
    }

    /** A stage of the router's own work. */
    static final class OwnWork extends Observed {
        final Stage stage;
        long startNanos;

        OwnWork(Stage stage) {
            this.stage = stage;
        }
    }

    /** In line for a turn at a worker. */
    static final class Waiting extends Observed {}

    /** One try at one worker. */
    static final class Attempt extends Observed {
        final int number;
        final String workerId;
        final String reason;
        final int predictedCachedTokens;
        /** What tells the worker whose work this is; filled in when it begins. */
        final Map<String, String> headers = new HashMap<>();
        volatile @Nullable Integer cachedTokens;

        /**
         * @param number 1 for the first worker that is asked
         * @param reason why this worker was chosen
         */
        Attempt(int number, String workerId, String reason, int predictedCachedTokens) {
            this.number = number;
            this.workerId = workerId;
            this.reason = reason;
            this.predictedCachedTokens = predictedCachedTokens;
        }
    }
}
