package dev.warmpath.cli.bench;

import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * A run, as {@code --json} writes it.
 *
 * @param spelling      ids or text
 * @param contextTokens 0 if the server does not tell
 * @param scale         1: as long as drawn
 * @param concurrency   clients that wait for their answers; null in an open loop
 * @param rate          requests in a second that were wanted; null in a closed loop
 * @param speed         of a trace that is sent by its own times; null: of anything else
 * @param interrupted   whether it was ended before its time
 */
@JsonNaming(SnakeCaseStrategy.class)
record BenchReport(String url, String model, String load, long seed, String spelling, int contextTokens, double scale,
        @Nullable Integer concurrency, @Nullable Double rate, @Nullable Double speed, boolean interrupted,
        Results results) {

    /**
     * @param seconds      from the first request's start to the last one's end, those of the warm-up left out
     * @param pace         null in a closed loop
     * @param promptTokens null if the server does not tell, as cachedTokens
     * @param hitRate      share of prompt tokens, of answers that tell it
     * @param ttftMs       until the first text, of requests that were answered
     * @param itlMs        between two pieces of text of an answer, over all pieces
     * @param e2eMs        until the end
     * @param lateMs       by how much the bench itself was late; null in a closed loop
     * @param goodput      null if nothing is asked
     * @param workers      answers of each, if a router tells
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record Results(double seconds, Requests requests, @Nullable PaceKept pace, Map<String, Long> errors,
            @Nullable Long promptTokens, @Nullable Long cachedTokens, long completionTokens, @Nullable Double hitRate,
            double requestsPerSecond, @Nullable Double promptTokensPerSecond, double completionTokensPerSecond,
            @Nullable Millis ttftMs, @Nullable Millis itlMs, @Nullable Millis e2eMs, @Nullable Millis lateMs,
            @Nullable Goodput goodput, Map<String, Long> workers) {}

    /**
     * @param sent      answered and failed
     * @param warmUp    before these
     * @param leftOut   never sent: longer than the model's context
     * @param abandoned never sent: their session's turn before had failed
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record Requests(long sent, long answered, long failed, long warmUp, long leftOut, long abandoned) {}

    /**
     * Whether the bench itself kept up.
     *
     * @param offeredPerSecond  requests that were due
     * @param achievedPerSecond that were sent
     * @param share             of the one in the other, at most 1
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record PaceKept(double offeredPerSecond, double achievedPerSecond, double share) {}

    /** @param share of all that were sent */
    @JsonNaming(SnakeCaseStrategy.class)
    record Goodput(Slo slo, double requestsPerSecond, double share) {}

    record Millis(double mean, double p50, double p90, double p99, double max) {

        /** @param micros of which there may be none: null then */
        static @Nullable Millis of(Histogram micros) {
            return micros.getTotalCount() == 0 ? null : new Millis(micros.getMean() / 1e3, at(micros, 50),
                    at(micros, 90), at(micros, 99), micros.getMaxValue() / 1e3);
        }

        private static double at(Histogram micros, double percentile) {
            return micros.getValueAtPercentile(percentile) / 1e3;
        }
    }
}
