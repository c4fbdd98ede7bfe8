package dev.warmpath.protocol.generate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.GenerateEvent.Failed;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Prompt;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class GenerateJsonTest {

    private final JsonMapper json = JsonMapper.builder().build();

    @Test
    void events_have_exactly_these_lines() {
        assertThat(line(new Tokens(0, new int[] {5, 6}, null)))
                .isEqualTo("{\"type\":\"tokens\",\"index\":0,\"ids\":[5,6]}");
        assertThat(line(new Finished(FinishReason.LENGTH, new Usage(20, 16, 3)))).isEqualTo(
                "{\"type\":\"finished\",\"reason\":\"length\","
                        + "\"usage\":{\"promptTokens\":20,\"cachedTokens\":16,\"completionTokens\":3}}");
        assertThat(line(new Finished(2, FinishReason.STOP, new Usage(20, 16, 3)))).isEqualTo(
                "{\"type\":\"finished\",\"index\":2,\"reason\":\"stop\","
                        + "\"usage\":{\"promptTokens\":20,\"cachedTokens\":16,\"completionTokens\":3}}");
        assertThat(line(new Tokens(3, new int[] {5},
                new Scores(new float[] {-0.5f}, new int[] {5, 7}, new float[] {-0.5f, -2f}))))
                .isEqualTo("{\"type\":\"tokens\",\"index\":3,\"ids\":[5],\"scores\":{\"logprobs\":[-0.5],"
                        + "\"topIds\":[5,7],\"topLogprobs\":[-0.5,-2.0]}}");
        assertThat(line(new Prompt(new Scores(new float[] {-0.5f}, new int[0], new float[0]), new int[] {1})))
                .isEqualTo("{\"type\":\"prompt\",\"scores\":{\"logprobs\":[-0.5],\"topIds\":[],"
                        + "\"topLogprobs\":[]},\"ranks\":[1]}");
        assertThat(line(new Failed(FailureReason.QUEUE_FULL, "full")))
                .isEqualTo("{\"type\":\"failed\",\"reason\":\"queue_full\",\"message\":\"full\"}");
    }

    @Test
    void events_are_read_back_by_their_type() {
        var event = json.readValue("{\"type\":\"tokens\",\"index\":1,\"ids\":[7],"
                + "\"scores\":{\"logprobs\":[-0.5],\"topIds\":[7],\"topLogprobs\":[-0.5]}}", GenerateEvent.class);

        assertThat(event).isInstanceOfSatisfying(Tokens.class, tokens -> {
            assertThat(tokens.ids()).containsExactly(7);
            assertThat(tokens.index()).isEqualTo(1);
            assertThat(tokens.scores().logprobs()).containsExactly(-0.5f);
            assertThat(tokens.scores().topIds()).containsExactly(7);
        });
    }

    @Test
    void a_request_survives_the_wire() {
        var request = new GenerateRequest("r-1", 42L, new int[] {1, 2, 3}, new SamplingParameters(0.5f, 40, 0.9f, 7L),
                new StopConditions(10, new int[] {9}, true, 4), true, "s:abc", null, null, 0, 1500L, "4f3a",
                new RouterId("r1"), 20, true, 3);

        var read = json.readValue(json.writeValueAsBytes(request), GenerateRequest.class);

        assertThat(read).usingRecursiveComparison().isEqualTo(request);
        assertThat(json.readValue("{\"requestId\":\"r\",\"workerEpoch\":0,\"promptTokens\":[1],\"sampling\":"
                + "{\"temperature\":0,\"topK\":0,\"topP\":1,\"seed\":0},\"stop\":{\"maxTokens\":1,"
                + "\"stopTokenIds\":[],\"ignoreEos\":false},\"logprobs\":false,\"priority\":0,"
                + "\"timeoutMillis\":0}", GenerateRequest.class)).usingRecursiveComparison()
                .isEqualTo(request(SamplingParameters.GREEDY, StopConditions.maxTokens(1)));
    }

    @Test
    void stop_conditions_have_exactly_this_json_and_without_min_tokens_ask_for_none() {
        var stop = new StopConditions(10, new int[] {9}, true, 4);

        assertThat(json.writeValueAsString(stop)).isEqualTo(
                "{\"maxTokens\":10,\"stopTokenIds\":[9],\"ignoreEos\":true,\"minTokens\":4}");
        assertThat(json.readValue("{\"maxTokens\":10,\"stopTokenIds\":[9],\"ignoreEos\":true}", StopConditions.class))
                .isEqualTo(stop.withMinTokens(0)).isNotEqualTo(stop);
    }

    @Test
    void rules_for_logits_have_exactly_this_json_and_are_left_out_where_they_ask_for_nothing() {
        var plain = new SamplingParameters(0.5f, 40, 0.75f, 7L);
        LogitRules rules = LogitRules.NONE.withMinP(0.25f).withPenalties(-2f, 0.5f, 1.5f)
                .withBiases(new int[] {3, 4}, -100f, 2f).withAllowedTokens(3, 9).withBadWords(new int[] {5, 6});

        assertThat(json.writeValueAsString(plain)).isEqualTo(
                "{\"temperature\":0.5,\"topK\":40,\"topP\":0.75,\"seed\":7}");
        assertThat(plain.with(LogitRules.NONE)).isEqualTo(plain);
        assertThat(plain.rules()).isSameAs(LogitRules.NONE);
        assertThat(json.writeValueAsString(plain.with(rules))).isEqualTo("{\"temperature\":0.5,\"topK\":40,"
                + "\"topP\":0.75,\"seed\":7,\"logitRules\":{\"minP\":0.25,\"presencePenalty\":-2.0,"
                + "\"frequencyPenalty\":0.5,\"repetitionPenalty\":1.5,\"biasedTokens\":[3,4],"
                + "\"biases\":[-100.0,2.0],\"allowedTokens\":[3,9],\"badWords\":[[5,6]]}}");
        assertThat(json.readValue(json.writeValueAsString(plain.with(rules)), SamplingParameters.class))
                .isEqualTo(plain.with(rules)).isNotEqualTo(plain);
        assertThat(json.readValue("{\"minP\":0,\"presencePenalty\":0,\"frequencyPenalty\":0,"
                + "\"repetitionPenalty\":1}", LogitRules.class)).isEqualTo(LogitRules.NONE);
    }

    @Test
    void absent_rules_ask_for_nothing_and_unknown_ones_are_refused_by_name() {
        assertThat(rules("{}")).isEqualTo(LogitRules.NONE);
        assertThat(rules("{\"minP\":0.5}")).isEqualTo(LogitRules.NONE.withMinP(0.5f));
        assertThat(rules("{\"presencePenalty\":1}")).isEqualTo(LogitRules.NONE.withPenalties(1, 0, 1));
        assertThat(rules("{\"repetitionPenalty\":1.5}")).isEqualTo(LogitRules.NONE.withPenalties(0, 0, 1.5f));
        assertThat(rules("{\"repetitionPenalty\":null,\"allowedTokens\":[3]}"))
                .isEqualTo(LogitRules.NONE.withAllowedTokens(3));
        assertThatThrownBy(() -> rules("{\"minP\":0.5,\"topA\":0.2}"))
                .hasMessageContaining("logitRules has a member 'topA' that nobody here knows");
        assertThatThrownBy(() -> rules("{\"topA\":null}")).hasMessageContaining("topA");
        assertThatThrownBy(() -> rules("{\"repetitionPenalty\":0}")).hasMessageContaining("repetitionPenalty 0.0");
    }

    private LogitRules rules(String members) {
        return json.readValue("{\"temperature\":0,\"topK\":0,\"topP\":1,\"seed\":0,\"logitRules\":" + members + "}",
                SamplingParameters.class).rules();
    }

    @Test
    void a_request_needs_what_not_every_worker_can() {
        StopConditions stop = StopConditions.maxTokens(4);
        SamplingParameters ruled = SamplingParameters.GREEDY.with(LogitRules.NONE.withMinP(0.1f));
        assertThat(request(SamplingParameters.GREEDY, stop).needs()).isEmpty();
        assertThat(request(SamplingParameters.GREEDY, stop.withMinTokens(1)).needs())
                .containsExactly(Ability.LOGIT_RULES);
        assertThat(request(ruled, stop).needs()).containsExactly(Ability.LOGIT_RULES);
        assertThat(request(ruled, stop).withChoices(2).withLogprobs(false, true, 3).needs())
                .containsExactlyInAnyOrder(Ability.values());
        assertThat(request(SamplingParameters.GREEDY, stop).withLogprobs(true, false, 0).needs())
                .containsExactly(Ability.LOGPROBS);
        assertThat(LogitRules.NONE.withBadWords(new int[] {1}).looksBack()).isFalse();
        assertThat(LogitRules.NONE.withBadWords(new int[] {1}, new int[] {1, 2}).looksBack()).isTrue();
        assertThat(LogitRules.NONE.withPenalties(0, 0.1f, 1).countsPrompt()).isFalse();
        assertThat(LogitRules.NONE.withPenalties(0, 0, 1.1f).countsAnswer()).isTrue();
    }

    private static GenerateRequest request(SamplingParameters sampling, StopConditions stop) {
        return GenerateRequest.of("r", new int[] {1}, sampling, stop);
    }

    @Test
    void rules_out_of_range_are_refused_by_name() {
        LogitRules none = LogitRules.NONE;
        assertThatThrownBy(() -> none.withMinP(1.1f)).hasMessage("minP 1.1 is outside 0 to 1");
        assertThatThrownBy(() -> none.withMinP(Float.NaN)).hasMessageContaining("minP NaN");
        assertThatThrownBy(() -> none.withPenalties(2.1f, 0, 1)).hasMessageContaining("presencePenalty 2.1");
        assertThatThrownBy(() -> none.withPenalties(0, -2.1f, 1)).hasMessageContaining("frequencyPenalty -2.1");
        assertThatThrownBy(() -> none.withPenalties(0, 0, 0)).hasMessageContaining("repetitionPenalty 0.0");
        assertThatThrownBy(() -> none.withBiases(new int[] {1}, 101f)).hasMessageContaining("bias 101.0");
        assertThatThrownBy(() -> none.withBiases(new int[] {1, 1}, 1f, 1f)).hasMessageContaining("twice");
        assertThatThrownBy(() -> none.withBiases(new int[] {1}, 1f, 1f)).hasMessage("2 biases of 1 biasedTokens");
        assertThatThrownBy(() -> none.withBiases(new int[301], new float[301])).hasMessageContaining("301 elements");
        assertThatThrownBy(() -> none.withAllowedTokens(new int[8193])).hasMessageContaining("8193 elements");
        assertThatThrownBy(() -> none.withBadWords(new int[257][1])).hasMessageContaining("257 elements");
        assertThatThrownBy(() -> none.withBadWords(new int[0])).hasMessageContaining("a bad word of 0 tokens");
    }

    @Test
    void values_out_of_range_are_refused_by_name() {
        assertThatThrownBy(() -> new SamplingParameters(Float.NaN, 0, 1f, 0)).hasMessageContaining("temperature NaN");
        assertThatThrownBy(() -> new SamplingParameters(0f, 0, 0f, 0)).hasMessageContaining("topP 0.0");
        assertThatThrownBy(() -> new SamplingParameters(0f, -1, 1f, 0)).hasMessageContaining("topK -1");
        assertThatThrownBy(() -> StopConditions.maxTokens(0)).hasMessageContaining("maxTokens 0");
        assertThatThrownBy(() -> StopConditions.maxTokens(4).withMinTokens(5))
                .hasMessage("minTokens 5 is outside 0 to maxTokens 4");
        assertThatThrownBy(() -> StopConditions.maxTokens(4).withMinTokens(-1)).hasMessageContaining("minTokens -1");
        assertThatThrownBy(() -> GenerateRequest.of("r", new int[0], SamplingParameters.GREEDY,
                StopConditions.maxTokens(1))).hasMessageContaining("promptTokens is empty");
        var request = GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, StopConditions.maxTokens(1));
        assertThatThrownBy(() -> request.withChoices(129)).hasMessage("choices 129 is outside 1 to 128");
        assertThatThrownBy(() -> request.withLogprobs(true, false, 21))
                .hasMessage("alternatives 21 is outside 0 to 20");
        assertThatThrownBy(() -> request.forWorker(1, "a/b", null)).hasMessageContaining("handle has 3 characters");
        assertThatThrownBy(() -> request.forWorker(1, "a".repeat(65), null))
                .hasMessageContaining("handle has 65 characters");
    }

    private String line(GenerateEvent event) {
        return json.writeValueAsString(event);
    }
}
