package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.router.keys.KeyRefusal.Ambiguous;
import dev.warmpath.router.keys.KeyRefusal.Measure;
import dev.warmpath.router.keys.KeyRefusal.Missing;
import dev.warmpath.router.keys.KeyRefusal.OperatorsOnly;
import dev.warmpath.router.keys.KeyRefusal.TooLarge;
import dev.warmpath.router.keys.KeyRefusal.Unknown;
import dev.warmpath.router.keys.KeyRefusal.UsedUp;
import dev.warmpath.router.metrics.RouterMetrics;
import io.github.bucket4j.TimeMeter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Who is let in, and how often, by a clock that stands. */
class ApiKeysTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final Clock clock = new Clock();
    private final ApiKeys keys = new ApiKeys(true, new RouterMetrics(registry), clock);

    private static final class Clock implements TimeMeter {
        private long millis;

        @Override
        public long currentTimeNanos() {
            return TimeUnit.MILLISECONDS.toNanos(millis);
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }

    /** @param lines in each, HASH(KEY) stands for the key's hash */
    private void accept(String... lines) {
        var text = new StringBuilder();
        for (String line : lines) {
            int at = line.indexOf("HASH(");
            int end = line.indexOf(')');
            text.append(line, 0, at).append(KeyHash.of(line.substring(at + 5, end))).append(line.substring(end + 1))
                    .append('\n');
        }
        keys.accept(KeyFile.parse(text.toString().getBytes(StandardCharsets.UTF_8)));
    }

    private Caller caller(String key) {
        return keys.callerOf(List.of("Bearer " + key), List.of());
    }

    private KeyRefusal refusal(List<String> authorization, List<String> xApiKey) {
        return catchThrowableOfType(KeyException.class, () -> keys.callerOf(authorization, xApiKey)).refusal();
    }

    private static KeyRefusal refusal(Runnable action) {
        return catchThrowableOfType(KeyException.class, action::run).refusal();
    }

    @Test
    void a_key_comes_in_either_header_or_the_same_in_both() {
        accept("a HASH(one)", "b HASH(two)");

        assertThat(keys.callerOf(List.of("Bearer one"), List.of()).name()).isEqualTo("a");
        assertThat(keys.callerOf(List.of("bearer   two "), List.of()).name()).isEqualTo("b");
        assertThat(keys.callerOf(List.of(), List.of("two")).name()).isEqualTo("b");
        assertThat(keys.callerOf(List.of("Bearer one"), List.of("one")).name()).isEqualTo("a");
        assertThat(keys.callerOf(List.of("Basic dXNlcjpwdw=="), List.of("one")).name()).isEqualTo("a");
    }

    @Test
    void no_key_or_different_ones_or_one_that_nobody_has_is_refused() {
        accept("a HASH(one)", "b HASH(two)");

        assertThat(refusal(List.of(), List.of())).isEqualTo(new Missing());
        for (String none : List.of("", "Bearer", "Bearer ", "Bearer    ", "Basic one", "one", "Bearerone")) {
            assertThat(refusal(List.of(none), List.of())).as(none).isEqualTo(new Missing());
        }
        assertThat(refusal(List.of("Bearer one"), List.of("two"))).isEqualTo(new Ambiguous());
        assertThat(refusal(List.of("Bearer one", "Bearer two"), List.of())).isEqualTo(new Ambiguous());
        assertThat(refusal(List.of(), List.of("one", "two"))).isEqualTo(new Ambiguous());
        for (String unknown : List.of("three", "One", "one,two", "Bearer one", "one two", "x".repeat(10_000),
                "sch\u00f6n", "one\u0000", "\ud83d\ude00", KeyHash.of("one").toString())) {
            assertThat(refusal(List.of("Bearer " + unknown), List.of())).as(unknown).isEqualTo(new Unknown());
        }
        assertThat(registry.get("warmpath.key.refusals").tags("key", "-", "cause", "unknown").counter().count())
                .isEqualTo(10);
    }

    /** One bit of 256 is another key. */
    @Test
    void a_hash_is_the_same_only_if_all_of_it_is() {
        KeyHash hash = KeyHash.of("one");
        assertThat(hash.isSame(KeyHash.parse(hash.toString()))).isTrue();
        for (int digit = 7; digit < 71; digit++) {
            char[] other = hash.toString().toCharArray();
            other[digit] = Character.forDigit(Character.digit(other[digit], 16) ^ 1, 16);
            assertThat(hash.isSame(KeyHash.parse(new String(other)))).as("digit " + digit).isFalse();
        }
    }

    @Test
    void a_key_that_is_taken_away_is_unknown_from_then_on() {
        accept("a HASH(one)", "a HASH(two)");
        Caller running = caller("one");

        accept("a HASH(two)");

        assertThat(refusal(List.of("Bearer one"), List.of())).isEqualTo(new Unknown());
        assertThat(caller("two").name()).isEqualTo("a");
        running.used(3, 4);
        accept();
        assertThat(refusal(List.of("Bearer two"), List.of())).isEqualTo(new Unknown());
    }

    @Test
    void of_300_requests_at_once_100_are_let_in() throws Exception {
        accept("a HASH(one) requests-per-minute=100");

        try (var threads = Executors.newFixedThreadPool(16)) {
            List<Callable<Boolean>> requests = IntStream.range(0, 300).<Callable<Boolean>>mapToObj(_ -> () -> {
                try {
                    caller("one").begin();
                    return true;
                } catch (KeyException e) {
                    assertThat(e.refusal()).isEqualTo(new UsedUp("a", Measure.REQUESTS, 100, 600_000_000));
                    return false;
                }
            }).toList();
            long letIn = 0;
            for (var request : threads.invokeAll(requests)) {
                letIn += request.get() ? 1 : 0;
            }
            assertThat(letIn).isEqualTo(100);
        }
        assertThat(registry.get("warmpath.key.requests").tag("key", "a").counter().count()).isEqualTo(100);
        assertThat(registry.get("warmpath.key.refusals").tags("key", "a", "cause", "requests").counter().count())
                .isEqualTo(200);
    }

    @Test
    void a_limit_fills_evenly_up_to_a_minutes_worth() {
        accept("a HASH(one) requests-per-minute=60");
        for (int i = 0; i < 60; i++) {
            caller("one").begin();
        }
        RateLimit requests = caller("one").requests();

        clock.millis += 999;
        assertThat(refusal(() -> caller("one").begin())).isEqualTo(new UsedUp("a", Measure.REQUESTS, 60, 1_000_000));
        clock.millis += 1;
        caller("one").begin();
        assertThatThrownBy(() -> caller("one").begin()).isInstanceOf(KeyException.class);
        assertThat(requests.left()).isZero();
        clock.millis += 30_000;
        assertThat(requests.left()).isEqualTo(30);
        assertThat(requests.nanosUntilFull()).isEqualTo(TimeUnit.SECONDS.toNanos(30));
        clock.millis += 3_600_000;
        assertThat(requests.left()).isEqualTo(60);
        assertThat(requests.nanosUntilFull()).isZero();
    }

    @Test
    void limits_go_on_over_a_change_that_leaves_them_and_for_all_keys_of_a_name() {
        accept("a HASH(one) requests-per-minute=3", "b HASH(other) requests-per-minute=3");
        caller("one").begin();

        accept("a HASH(one) requests-per-minute=3", "a HASH(two) requests-per-minute=3");
        caller("two").begin();
        accept("a HASH(two) operator requests-per-minute=3");
        caller("two").begin();

        assertThat(caller("two").isOperator()).isTrue();
        assertThatThrownBy(() -> caller("two").begin()).isInstanceOf(KeyException.class);
        accept("a HASH(two) requests-per-minute=2");
        assertThat(caller("two").requests().left()).isEqualTo(2);
    }

    @Test
    void a_prompt_is_taken_before_and_an_answer_after_and_what_is_too_much_is_missing_then() {
        accept("a HASH(one) tokens-per-minute=600");
        Caller caller = caller("one");

        caller.begin();
        caller.takePrompt(500);
        caller.used(500, 250);                                     // 150 more than there were

        assertThat(caller.tokens().left()).isZero();
        assertThat(refusal(caller::begin)).isEqualTo(new UsedUp("a", Measure.TOKENS, 600, 15_100_000_000L));
        clock.millis += 15_100;
        caller.begin();
        assertThat(refusal(() -> caller.takePrompt(2)))
                .isEqualTo(new UsedUp("a", Measure.TOKENS, 600, 100_000_000));
        clock.millis += 60_000;
        assertThat(refusal(() -> caller.takePrompt(601))).isEqualTo(new TooLarge("a", 601, 600));
        caller.takePrompt(600);
        caller.giveBackPrompt(600);
        caller.takePrompt(600);
        assertThat(registry.get("warmpath.key.tokens").tags("key", "a", "of", "prompt").counter().count())
                .isEqualTo(500);
        assertThat(registry.get("warmpath.key.tokens").tags("key", "a", "of", "completion").counter().count())
                .isEqualTo(250);
    }

    @Test
    void a_request_that_is_refused_for_its_tokens_counts_as_none() {
        accept("a HASH(one) requests-per-minute=2 tokens-per-minute=10");
        Caller caller = caller("one");
        caller.begin();
        caller.takePrompt(10);

        assertThatThrownBy(caller::begin).isInstanceOf(KeyException.class);
        assertThat(caller.requests().left()).isEqualTo(1);
    }

    @Test
    void what_is_for_operators_is_refused_to_others_and_where_no_keys_are_asked_for_to_nobody() {
        accept("a HASH(one)", "ops HASH(two) operator");

        assertThat(refusal(() -> caller("one").refuseUnlessOperator("this"))).isEqualTo(new OperatorsOnly("this", "a"));
        caller("two").refuseUnlessOperator("this");
        Caller.ANYBODY.refuseUnlessOperator("this");
        Caller.ANYBODY.begin();
        Caller.ANYBODY.takePrompt(1_000_000_000);
        assertThat(Caller.ANYBODY.name()).isNull();
    }
}
