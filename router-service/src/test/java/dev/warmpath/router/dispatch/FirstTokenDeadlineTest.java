package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FirstTokenDeadlineTest {

    /** The last but one: 4,000 tokens at 1 ms each, as a slow processor without an accelerator takes. */
    @ParameterizedTest(name = "{0} ms expected: {1} ms")
    @CsvSource({"-1, 60000", "0, 3000", "50, 3000", "375, 3000", "376, 3008", "4000, 32000", "7500, 60000",
        "9000000000, 60000"})
    void a_worker_gets_eight_times_what_is_typical_between_the_least_and_the_most(long expectedMillis, long millis) {
        assertThat(FirstTokenDeadline.of(expectedMillis * 1_000_000, Duration.ofSeconds(3), Duration.ofMinutes(1)))
                .isEqualTo(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @CsvSource({"-1", "0", "1000"})
    void the_most_bounds_the_least(long expectedMillis) {
        assertThat(FirstTokenDeadline.of(expectedMillis * 1_000_000, Duration.ofSeconds(3), Duration.ofMillis(500)))
                .isEqualTo(Duration.ofMillis(500));
    }
}
