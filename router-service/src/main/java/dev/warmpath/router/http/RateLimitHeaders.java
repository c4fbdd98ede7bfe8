package dev.warmpath.router.http;

import dev.warmpath.router.keys.Caller;
import dev.warmpath.router.keys.RateLimit;
import java.math.BigDecimal;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/** What is left of a caller's limits, under OpenAI's names (platform.openai.com, "Rate limits"). */
final class RateLimitHeaders {

    private static final String LIMIT = "x-ratelimit-limit-";
    private static final String REMAINING = "x-ratelimit-remaining-";
    /** Until all of it is there again. */
    private static final String RESET = "x-ratelimit-reset-";
    private static final String REQUESTS = "requests";
    private static final String TOKENS = "tokens";

    static final List<String> NAMES = Stream.of(REQUESTS, TOKENS)
            .flatMap(of -> Stream.of(LIMIT + of, REMAINING + of, RESET + of)).toList();

    private RateLimitHeaders() {}

    static void write(Caller caller, HttpHeaders headers) {
        write(REQUESTS, caller.requests(), headers);
        write(TOKENS, caller.tokens(), headers);
    }

    private static void write(String of, @Nullable RateLimit limit, HttpHeaders headers) {
        if (limit != null) {
            headers.set(LIMIT + of, Integer.toString(limit.perMinute()));
            headers.set(REMAINING + of, Integer.toString(limit.left()));
            headers.set(RESET + of, words(limit.nanosUntilFull()));
        }
    }

    /** As OpenAI and Go write a duration: {@code 0s}, {@code 120ms}, {@code 8.64s}, {@code 6m0s}, {@code 1h0m0s}. */
    static String words(long nanos) {
        long millis = Math.ceilDiv(nanos, TimeUnit.MILLISECONDS.toNanos(1));
        if (millis > 0 && millis < 1_000) {
            return millis + "ms";
        }
        long minutes = millis / 60_000;
        return (minutes < 60 ? "" : minutes / 60 + "h") + (minutes == 0 ? "" : minutes % 60 + "m")
                + seconds(millis % 60_000) + "s";
    }

    private static String seconds(long millis) {
        return BigDecimal.valueOf(millis, 3).stripTrailingZeros().toPlainString();
    }
}
