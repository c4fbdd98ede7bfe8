package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Each field that shapes logits, from HTTP to what the model that ships answers, greedily unless said otherwise. */
class LogitFieldsTest {

    private static LocalFleet fleet;
    private static Gateway gateway;
    private static int a;
    private static int b;

    @BeforeAll
    static void start() {
        fleet = LocalFleet.start(1, 1, LocalFleet.patient(), List.of());
        gateway = fleet.gateway();
        a = lastToken("a");
        b = lastToken("b");
    }

    @AfterAll
    static void close() {
        fleet.close();
    }

    private static int lastToken(String text) {
        int[] tokens = gateway.tokenize(text);
        return tokens[tokens.length - 1];
    }

    private static Answer answer(int maxTokens, Map<String, ?> fields) {
        Map<String, Object> body = new HashMap<>(Map.of("model", LocalFleet.MODEL, "prompt", "The quick brown fox",
                "max_tokens", maxTokens, "temperature", 0, "seed", 5, "ignore_eos", true));
        body.putAll(fields);
        return gateway.post("/v1/completions", body);
    }

    private static String text(int maxTokens, Map<String, ?> fields) {
        Answer answer = answer(maxTokens, fields);
        assertThat(answer.status()).as(String.valueOf(answer.body())).isEqualTo(200);
        return answer.text();
    }

    @Test
    void logit_bias_makes_a_token_the_likeliest_or_the_least_likely() {
        assertThat(text(4, Map.of("logit_bias", Map.of(a, 100)))).isEqualTo("aaaa");
        assertThat(text(4, Map.of("logit_bias", Map.of(a, -100, b, 50)))).isEqualTo("bbbb");
    }

    @Test
    void allowed_token_ids_are_all_that_is_drawn() {
        assertThat(text(8, Map.of("allowed_token_ids", List.of(a, b)))).matches("[ab]{8}");
        assertThat(text(8, Map.of("allowed_token_ids", List.of(b), "temperature", 2))).isEqualTo("bbbbbbbb");
    }

    @Test
    void bad_words_are_not_drawn() {
        assertThat(text(4, Map.of("logit_bias", Map.of(a, 100, b, 60), "bad_words", List.of("a")))).isEqualTo("bbbb");
    }

    @Test
    void repetition_penalty_halves_the_logits_of_what_was_there() {
        assertThat(text(4, Map.of("logit_bias", Map.of(a, 100, b, 65)))).isEqualTo("aaaa");
        assertThat(text(4, Map.of("logit_bias", Map.of(a, 100, b, 65), "repetition_penalty", 2))).isEqualTo("abaa");
    }

    @Test
    void frequency_penalty_grows_with_each_time_and_presence_penalty_does_not() {
        Map<Integer, Integer> bias = Map.of(a, 60, b, 40);
        assertThat(text(24, Map.of("logit_bias", bias))).doesNotContain("b");
        assertThat(text(24, Map.of("logit_bias", bias, "presence_penalty", 2))).doesNotContain("b");
        assertThat(text(24, Map.of("logit_bias", bias, "frequency_penalty", 2))).startsWith("aaa").contains("b");
        assertThat(text(60, Map.of("temperature", 1, "presence_penalty", 2)))
                .isNotEqualTo(text(60, Map.of("temperature", 1)));
    }

    @Test
    void min_p_of_one_leaves_the_likeliest_token_whatever_the_temperature() {
        assertThat(text(12, Map.of("temperature", 2, "min_p", 1))).isEqualTo(text(12, Map.of()))
                .isNotEqualTo(text(12, Map.of("temperature", 2)));
    }

    @Test
    void min_tokens_puts_the_end_off() {
        Map<String, Object> ending = new HashMap<>(Map.of("logit_bias", Map.of(a, 100), "stop_token_ids", List.of(a)));
        assertThat(answer(20, ending).completionTokens()).isEqualTo(1);
        ending.put("min_tokens", 5);
        Answer later = answer(20, ending);
        assertThat(later.completionTokens()).isEqualTo(6);
        assertThat(later.text()).doesNotContain("a");
    }

    @Test
    void what_leaves_no_token_is_refused() {
        Answer refused = answer(4, Map.of("allowed_token_ids", List.of(a), "bad_words", List.of("a")));
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.body().path("error").path("message").asString()).contains("allowedTokens has 1 tokens");
    }
}
