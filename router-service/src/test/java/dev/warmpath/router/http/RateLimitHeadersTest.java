package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RateLimitHeadersTest {

    @ParameterizedTest
    @CsvSource({"0, 0s", "1, 1ms", "120000000, 120ms", "999000000, 999ms", "999000001, 1s", "1000000000, 1s",
        "8640000000, 8.64s", "10000000000, 10s", "59999000000, 59.999s", "60000000000, 1m0s", "72500000000, 1m12.5s",
        "360000000000, 6m0s", "3600000000000, 1h0m0s", "3661001000000, 1h1m1.001s"})
    void a_duration_is_written_as_openai_writes_it(long nanos, String words) {
        assertThat(RateLimitHeaders.words(nanos)).isEqualTo(words);
    }
}
