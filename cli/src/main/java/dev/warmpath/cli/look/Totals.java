package dev.warmpath.cli.look;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What routers have done since they started, all of them together.
 *
 * @param firstToken how many first tokens came within so many seconds, by upper bound
 */
record Totals(long inFlight, long requests, long failed, long promptTokens, long cachedTokens, long completionTokens,
        NavigableMap<Double, Double> firstToken) {

    static final Totals NONE = new Totals(0, 0, 0, 0, 0, 0, new TreeMap<>());

    static Totals of(PrometheusText metrics) {
        long requests = (long) metrics.sum("warmpath_requests_total");
        long failed = (long) metrics.sum("warmpath_requests_total", "outcome=\"failed\"");
        return new Totals((long) metrics.sum("warmpath_in_flight_requests"), requests, failed,
                (long) metrics.sum("warmpath_prompt_tokens_total"), (long) metrics.sum("warmpath_cached_tokens_total"),
                (long) metrics.sum("warmpath_completion_tokens_total"),
                metrics.buckets("warmpath_time_to_first_token_seconds"));
    }

    Totals plus(Totals other) {
        return combined(other, 1);
    }

    /** What has come since then; whatever counts backwards has begun anew, and counts as nothing. */
    Totals since(Totals earlier) {
        return combined(earlier, -1);
    }

    private Totals combined(Totals other, int sign) {
        NavigableMap<Double, Double> buckets = new TreeMap<>(firstToken);
        for (Map.Entry<Double, Double> bucket : other.firstToken.entrySet()) {
            buckets.merge(bucket.getKey(), sign * bucket.getValue(), (a, b) -> Math.max(0, a + b));
        }
        return new Totals(sign > 0 ? inFlight + other.inFlight : inFlight,
                Math.max(0, requests + sign * other.requests), Math.max(0, failed + sign * other.failed),
                Math.max(0, promptTokens + sign * other.promptTokens),
                Math.max(0, cachedTokens + sign * other.cachedTokens),
                Math.max(0, completionTokens + sign * other.completionTokens), buckets);
    }

    /** Share of prompt tokens that workers found in their caches; null if there were none. */
    @Nullable Double hitRate() {
        return promptTokens == 0 ? null : (double) cachedTokens / promptTokens;
    }

    /**
     * By even spread within a bucket, as Prometheus does it.
     *
     * @param share 0 to 1
     * @return null if none came
     */
    @Nullable Double firstTokenMillis(double share) {
        if (firstToken.isEmpty() || firstToken.lastEntry().getValue() <= 0) {
            return null;
        }
        double rank = share * firstToken.lastEntry().getValue();
        double below = 0;
        double lower = 0;
        for (Map.Entry<Double, Double> bucket : firstToken.entrySet()) {
            double count = bucket.getValue();
            if (count >= rank && count > below) {
                double upper = bucket.getKey();
                return 1_000 * (Double.isInfinite(upper) ? lower
                        : lower + (upper - lower) * (rank - below) / (count - below));
            }
            below = count;
            lower = bucket.getKey();
        }
        return 1_000 * lower;
    }
}
