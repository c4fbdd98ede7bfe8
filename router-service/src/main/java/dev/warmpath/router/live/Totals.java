package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What this router's workers have answered, in all and in the last {@value #WINDOW_SECONDS} seconds: tokens when they
 * come, what was found cached when it is told, at the end. Safe for use by several threads.
 */
final class Totals {

    static final int WINDOW_SECONDS = 60;
    /** Of which the quantiles of first tokens are taken, at most. */
    private static final int MAX_SAMPLES = 1_024;
    private static final double MEDIAN = 0.5;
    private static final double NEARLY_ALL = 0.99;

    private final LongSupplier nanoTime;
    private final long startNanos;
    /** By second, modulo how many are kept: one more than the window has, since the last one is not over. */
    private final Second[] seconds = new Second[WINDOW_SECONDS + 1];
    private final long[] sampleNanos = new long[MAX_SAMPLES];
    private final long[] firstTokenNanos = new long[MAX_SAMPLES];
    private long samples;
    private long tries;
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

    /** How much of one try has been counted. */
    static final class Counted {
        private boolean firstToken;
        private int drawnTokens;
    }

    /**
     * As it is told.
     *
     * @param requests     tries: requests sent to a worker
     * @param failed       of those, that failed
     * @param promptTokens of answers whose workers told what they found cached, as {@code cachedTokens}
     * @param hitRate      the latter by the former, of the last minute; null if there was no such answer
     * @param promptTokensPerSecond of prompts that came so far as a token
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

    /** One more try begins. */
    synchronized Counted begun() {
        tries++;
        return new Counted();
    }

    /**
     * How far a try has come.
     *
     * @param promptLength in tokens
     * @param firstNanos   how long its first token took; below 0 while there is none
     * @param drawnTokens  so far
     */
    synchronized void goesOn(Counted counted, int promptLength, long firstNanos, int drawnTokens) {
        if (firstNanos >= 0 && !counted.firstToken) {
            counted.firstToken = true;
            second(nanoTime.getAsLong()).promptTokens += promptLength;
            int place = (int) (samples++ % MAX_SAMPLES);
            sampleNanos[place] = nanoTime.getAsLong();
            firstTokenNanos[place] = firstNanos;
        }
        int more = drawnTokens - counted.drawnTokens;
        if (more > 0) {
            counted.drawnTokens = drawnTokens;
            completionTokens += more;
            second(nanoTime.getAsLong()).completionTokens += more;
        }
    }

    /**
     * A try has ended.
     *
     * @param promptLength in tokens
     * @param foundTokens  of these, that the worker has told to have found cached; null if it has not told
     */
    synchronized void ended(boolean hasFailed, int promptLength, @Nullable Integer foundTokens) {
        failed += hasFailed ? 1 : 0;
        if (foundTokens != null) {
            promptTokens += promptLength;
            cachedTokens += foundTokens;
            Second second = second(nanoTime.getAsLong());
            second.countedPromptTokens += promptLength;
            second.cachedTokens += foundTokens;
        }
    }

    /** @param overSeconds whole seconds that rates are taken of, 1 to {@value #WINDOW_SECONDS} */
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
            }
            if (each.number >= 0 && age >= 1 && age <= overSeconds) {
                prompt += each.promptTokens;
                completion += each.completionTokens;
            }
        }
        double span = Math.clamp(current, 1, overSeconds);
        return new View(requestsInFlight, tries, failed, promptTokens, cachedTokens, completionTokens,
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
        int place = (int) (number % seconds.length);
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
