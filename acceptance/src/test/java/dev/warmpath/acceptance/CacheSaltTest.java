package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Real workers, and clients who keep what they left in caches to themselves. */
class CacheSaltTest {

    private static final String PROMPT = "The quick brown fox jumps over the lazy dog. ".repeat(12);

    private static LocalFleet fleet;
    private static Gateway gateway;

    @BeforeAll
    static void start() {
        fleet = LocalFleet.start(1, 2, LocalFleet.patient(), List.of());
        gateway = fleet.gateway();
    }

    @AfterAll
    static void close() {
        fleet.close();
    }

    private static Answer answer(Map<String, ?> fields) {
        Map<String, Object> body = new HashMap<>(
                Map.of("model", LocalFleet.MODEL, "prompt", PROMPT, "max_tokens", 4, "temperature", 0));
        body.putAll(fields);
        Answer answer = gateway.post("/v1/completions", body);
        assertThat(answer.status()).as(String.valueOf(answer.body())).isEqualTo(200);
        return answer;
    }

    private static int cachedTokens(Map<String, ?> fields) {
        return answer(fields).body().path("usage").path("prompt_tokens_details").path("cached_tokens").asInt();
    }

    @Test
    void what_one_has_left_nobody_else_finds_and_he_does_at_the_worker_that_has_it() {
        Map<String, String> hers = Map.of("cache_salt", "hers");
        Map<String, String> his = Map.of("cache_salt", "his");

        assertThat(cachedTokens(Map.of())).as("the first of all").isZero();
        assertThat(cachedTokens(hers)).as("her first").isZero();
        assertThat(cachedTokens(his)).as("his first").isZero();
        int all = cachedTokens(Map.of());
        assertThat(all).isPositive();
        for (int i = 0; i < 4; i++) {
            assertThat(cachedTokens(hers)).as("hers, again").isEqualTo(all);
            assertThat(cachedTokens(his)).as("his, again").isEqualTo(all);
        }
        assertThat(answer(hers).text()).as("the same text").isEqualTo(answer(Map.of()).text());
    }
}
