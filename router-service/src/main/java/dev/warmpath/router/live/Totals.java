package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.router.decisions.Decision;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What this router's workers have answered, in all and in the last {@value #WINDOW_SECONDS} seconds. An answer counts
 * when it has ended. Safe for use by several threads.
 */
final class Totals {

    static final int WINDOW_SECONDS = 60;
    /** Of which the quantiles of first tokens are taken, at most. */
    private static final int MAX_SAMPLES = 1_024;
    private static final double MEDIAN = 0.5;
    private static final double NEARLY_ALL = 0.99;

    private final LongSupplier nanoTime;
    private final long startNanos;
    /** By second, modulo {@value #WINDOW_SECONDS}. */
    private final Second[] seconds = new Second[WINDOW_SECONDS];
    private final long[] sampleNanos = new long[MAX_SAMPLES];
    private final long[] firstTokenNanos = new long[MAX_SAMPLES];
    private long samples;
    private long requests;
    private long failed;
    private long promptTokens;
    private long cachedTokens;
    private long completionTokens;

    private static final class Second {
        private long number = -1;
        private long promptTokens;
        private long countedPromptTokens;
        private long cachedTokens;
        private long completionTokens;
    }

    /**
     * As it is told.
     *
     * @param requests     sent to a worker, each try counted
     * @param failed       tries of those that failed
     * @param promptTokens of answers whose workers told what they found cached, as {@code cachedTokens}
     * @param hitRate      the latter by the former, of the last minute; null if there was no such answer
     * @param firstTokenMs how long first tokens took since the decision, in the last minute; null if there was none
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    record View(int requestsInFlight, long requests, long failed, long promptTokens, long cachedTokens,
            long completionTokens, @Nullable Double hitRate, double promptTokensPerSecond, double tokensPerSecond,
            @Nullable Quantiles firstTokenMs) {}

    /** In milliseconds. */
    record Quantiles(double p50, double p99) {}

    /** @param nanoTime a monotonic clock, as {@link System#nanoTime} */
    Totals(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.startNanos = nanoTime.getAsLong();
        Arrays.setAll(seconds, _ -> new Second());
    }

    synchronized void decided() {
        requests++;
    }

    /** @param promptLength in tokens */
    synchronized void ended(Decision.Outcome outcome, int promptLength) {
        long now = nanoTime.getAsLong();
        Second second = second(now);
        failed += outcome.end().equals("answered") || outcome.end().equals("left") ? 0 : 1;
        second.promptTokens += promptLength;
        if (outcome.cachedTokens() != null) {
            promptTokens += promptLength;
            cachedTokens += outcome.cachedTokens();
            second.countedPromptTokens += promptLength;
            second.cachedTokens += outcome.cachedTokens();
        }
        if (outcome.completionTokens() != null) {
            completionTokens += outcome.completionTokens();
            second.completionTokens += outcome.completionTokens();
        }
        if (outcome.firstTokenNanos() != null) {
            int place = (int) (samples++ % MAX_SAMPLES);
            sampleNanos[place] = now;
            firstTokenNanos[place] = outcome.firstTokenNanos();
        }
    }

    /** @param overSeconds what rates are taken of, the hit rate and first tokens not, 1 to {@value #WINDOW_SECONDS} */
    synchronized View view(int requestsInFlight, int overSeconds) {
        long now = nanoTime.getAsLong();
        long current = number(now);
        long prompt = 0;
        long completion = 0;
        long counted = 0;
        long cached = 0;
        for (Second each : seconds) {
            long age = current - each.number;
            if (each.number >= 0 && age < WINDOW_SECONDS) {
                counted += each.countedPromptTokens;
                cached += each.cachedTokens;
                prompt += age < overSeconds ? each.promptTokens : 0;
                completion += age < overSeconds ? each.completionTokens : 0;
            }
        }
        double span = Math.clamp((now - startNanos) / 1e9, 1, overSeconds);
        return new View(requestsInFlight, requests, failed, promptTokens, cachedTokens, completionTokens,
                counted == 0 ? null : (double) cached / counted, prompt / span, completion / span, firstTokens(now));
    }

    private @Nullable Quantiles firstTokens(long now) {
        long oldest = now - TimeUnit.SECONDS.toNanos(WINDOW_SECONDS);
        long[] recent = new long[MAX_SAMPLES];
        int count = 0;
        for (int i = 0; i < Math.min(samples, MAX_SAMPLES); i++) {
            if (sampleNanos[i] - oldest >= 0) {
                recent[count++] = firstTokenNanos[i];
            }
        }
        if (count == 0) {
            return null;
        }
        Arrays.sort(recent, 0, count);
        return new Quantiles(millis(recent[rank(MEDIAN, count)]), millis(recent[rank(NEARLY_ALL, count)]));
    }

    private static int rank(double quantile, int count) {
        return Math.max(0, (int) Math.ceil(quantile * count) - 1);
    }

    private static double millis(long nanos) {
        return Math.round(nanos / 1e4) / 1e2;
    }

    private Second second(long now) {
        long number = number(now);
        int place = (int) (number % WINDOW_SECONDS);
        if (seconds[place].number != number) {
            seconds[place] = new Second();
            seconds[place].number = number;
        }
        return seconds[place];
    }

    private long number(long now) {
        return TimeUnit.NANOSECONDS.toSeconds(now - startNanos);
    }
}
