package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.acceptance.Gateway.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Fields that shape logits or tell of them, ask for several answers, or keep caches apart, from HTTP to what the model that
 * ships answers on real workers, greedily unless said otherwise.
 */
class RequestFieldsTest {

    private static LocalFleet fleet;
    private static Gateway gateway;
    private static int a;
    private static int b;

    @BeforeAll
    static void start() {
        fleet = LocalFleet.start(1, 2, LocalFleet.patient(), List.of());
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
    void n_answers_are_those_of_as_many_requests_with_seeds_one_above_the_other() {
        Map<String, Object> drawn = new HashMap<>(Map.of("temperature", 1, "n", 3));
        Answer together = answer(12, drawn);

        List<String> alone = new ArrayList<>();
        drawn.remove("n");
        for (int seed = 5; seed < 8; seed++) {
            drawn.put("seed", seed);
            alone.add(text(12, drawn));
        }
        assertThat(texts(together)).containsExactlyElementsOf(alone).doesNotHaveDuplicates();
        assertThat(together.completionTokens()).isEqualTo(36);
    }

    private static List<String> texts(Answer answer) {
        assertThat(answer.status()).as(String.valueOf(answer.body())).isEqualTo(200);
        List<String> texts = new ArrayList<>();
        answer.body().path("choices").forEach(choice -> texts.add(choice.path("text").asString()));
        return texts;
    }

    @Test
    void several_prompts_are_answered_as_each_alone() {
        List<String> alone = List.of(text(8, Map.of("prompt", "Once upon")), text(8, Map.of("prompt", "The sea")));

        assertThat(texts(answer(8, Map.of("prompt", List.of("Once upon", "The sea"))))).isEqualTo(alone);
    }

    @Test
    void best_of_shows_the_likeliest_of_the_answers_that_are_drawn() {
        Map<String, Object> drawn = new HashMap<>(Map.of("temperature", 1, "n", 6, "logprobs", 0));
        Answer all = answer(6, drawn);
        double best = -1e9;
        String likeliest = "";
        for (JsonNode choice : all.body().path("choices")) {
            double sum = 0;
            for (JsonNode logprob : choice.path("logprobs").path("token_logprobs")) {
                sum += logprob.asDouble();
            }
            likeliest = sum > best ? choice.path("text").asString() : likeliest;
            best = Math.max(sum, best);
        }

        assertThat(texts(answer(6, Map.of("temperature", 1, "best_of", 6)))).containsExactly(likeliest);
    }

    /** A text is scored as it was drawn, whether the worker has it in its cache or not. */
    @Test
    void what_was_drawn_is_as_likely_when_it_is_a_prompt() {
        Answer drawn = answer(20, Map.of("logprobs", 3, "return_token_ids", true));
        JsonNode choice = drawn.body().path("choices").path(0);
        List<Integer> ids = new ArrayList<>();
        choice.path("prompt_token_ids").forEach(id -> ids.add(id.asInt()));
        int promptLength = ids.size();
        choice.path("token_ids").forEach(id -> ids.add(id.asInt()));

        Answer scored = answer(0, Map.of("prompt", ids, "echo", true, "logprobs", 3));

        assertThat(scored.status()).as(String.valueOf(scored.body())).isEqualTo(200);
        assertThat(scored.completionTokens()).isZero();
        assertThat(scored.body().path("usage").path("prompt_tokens_details").path("cached_tokens").asInt()).isZero();
        JsonNode then = choice.path("logprobs");
        JsonNode now = scored.body().path("choices").path(0).path("logprobs");
        assertThat(now.path("token_logprobs")).hasSize(ids.size());
        assertThat(now.path("token_logprobs").path(0).isNull()).isTrue();
        for (int i = 0; i < 20; i++) {
            assertThat(now.path("token_logprobs").path(promptLength + i).asDouble())
                    .as("token %d", i).isCloseTo(then.path("token_logprobs").path(i).asDouble(), within(1e-4));
            JsonNode likeliest = then.path("top_logprobs").path(i);
            assertThat(likeliest).as("greedy: itself and two more").hasSize(3);
            assertThat(now.path("top_logprobs").path(promptLength + i).propertyNames())
                    .containsExactlyElementsOf(likeliest.propertyNames());
        }
    }

    @Test
    void probabilities_of_the_whole_vocabulary_are_no_more_than_one_and_the_first_is_the_greedy_token() {
        Answer answer = gateway.post("/v1/chat/completions", Map.of("model", LocalFleet.MODEL, "max_tokens", 3,
                "temperature", 0, "logprobs", true, "top_logprobs", 20,
                "messages", List.of(Map.of("role", "user", "content", "Hi"))));

        JsonNode content = answer.body().path("choices").path(0).path("logprobs").path("content");
        assertThat(content).isNotEmpty();
        for (JsonNode token : content) {
            double sum = 0;
            for (JsonNode each : token.path("top_logprobs")) {
                sum += Math.exp(each.path("logprob").asDouble());
            }
            assertThat(sum).isBetween(0.0, 1.0001);
            assertThat(token.path("top_logprobs")).hasSize(20);
            assertThat(token.path("top_logprobs").path(0).path("token")).isEqualTo(token.path("token"));
            assertThat(token.path("top_logprobs").path(0).path("logprob")).isEqualTo(token.path("logprob"));
        }
    }

    @Test
    void what_leaves_no_token_is_refused() {
        Answer refused = answer(4, Map.of("allowed_token_ids", List.of(a), "bad_words", List.of("a")));
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.body().path("error").path("message").asString()).contains("allowedTokens has 1 tokens");
    }

    private static Answer saltedAnswer(Map<String, ?> fields) {
        Map<String, Object> more = new HashMap<>(fields);
        more.put("prompt", "The quick brown fox jumps over the lazy dog. ".repeat(12));
        return answer(4, more);
    }

    private static int cachedTokens(Map<String, ?> fields) {
        Answer answer = saltedAnswer(fields);
        assertThat(answer.status()).as(String.valueOf(answer.body())).isEqualTo(200);
        return answer.body().path("usage").path("prompt_tokens_details").path("cached_tokens").asInt();
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
        assertThat(saltedAnswer(hers).text()).as("the same text").isEqualTo(saltedAnswer(Map.of()).text());
    }
}
