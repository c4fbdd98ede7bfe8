package dev.warmpath.worker.foreign.generate;

import static dev.warmpath.protocol.generate.StopConditions.maxTokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.RefusedException;
import dev.warmpath.worker.foreign.generate.Scored.Likeliest;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class DialectTest {

    private static final Completions VLLM = new Completions("m", /* isVllm */ true);
    private static final Completions OTHER = new Completions("m", /* isVllm */ false);
    private static final SglangTokens SGLANG = new SglangTokens(/* takesSalt */ true);
    private static final LogitRules RULES = LogitRules.NONE.withMinP(0.125f).withPenalties(0.5f, -0.25f, 1.5f)
            .withBiases(new int[] {5, 9}, -100f, 2.5f).withAllowedTokens(5, 6, 9);
    private static final GenerateRequest FULL = new GenerateRequest("r", 0, new int[] {1, 2, 3},
            new SamplingParameters(0.75f, 40, 0.5f, 11, RULES), new StopConditions(20, new int[] {2, 7}, true, 4), true,
            "s:abc", null, null, 0, 0, null, null, 3, false, 1);

    @Test
    void vllms_completions_are_told_every_value() {
        assertThat(body(VLLM, ask(FULL))).isEqualTo("{'model':'m','prompt':[1,2,3],'n':1,'max_tokens':20,"
                + "'temperature':0.75,'top_p':0.5,'presence_penalty':0.5,'frequency_penalty':-0.25,'seed':11,"
                + "'logit_bias':{'5':-100.0,'9':2.5},'logprobs':3,'stop_token_ids':[2,7],'top_k':40,'min_p':0.125,"
                + "'repetition_penalty':1.5,'min_tokens':4,'ignore_eos':true,'allowed_token_ids':[5,6,9],"
                + "'return_token_ids':true,'add_special_tokens':false,'request_id':'id',"
                + "'return_tokens_as_token_ids':true,'cache_salt':'s:abc','stream':true,"
                + "'stream_options':{'include_usage':true}}");
    }

    @Test
    void what_is_off_is_written_as_off_and_not_left_to_the_engine() {
        assertThat(body(VLLM, ask(GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, maxTokens(1)))))
                .isEqualTo("{'model':'m','prompt':[1],'n':1,'max_tokens':20,'temperature':0.0,'top_p':1.0,"
                        + "'presence_penalty':0.0,'frequency_penalty':0.0,'seed':11,'stop_token_ids':[],'top_k':0,"
                        + "'min_p':0.0,'repetition_penalty':1.0,'min_tokens':0,'ignore_eos':false,"
                        + "'return_token_ids':true,'add_special_tokens':false,'request_id':'id','stream':true,"
                        + "'stream_options':{'include_usage':true}}");
    }

    @Test
    void another_server_is_told_openais_fields_and_nothing_else() {
        assertThat(body(OTHER, ask(GenerateRequest.of("r", new int[] {1}, new SamplingParameters(1, 0, 0.5f, 0),
                new StopConditions(20, new int[] {2}, false))))).isEqualTo("{'model':'m','prompt':[1],'n':1,"
                        + "'max_tokens':20,'temperature':1.0,'top_p':0.5,'presence_penalty':0.0,"
                        + "'frequency_penalty':0.0,'seed':11,'return_token_ids':true,'stream':true,"
                        + "'stream_options':{'include_usage':true}}");
    }

    @Test
    void a_seed_that_vllm_takes_for_none_is_another_one() {
        var request = GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, maxTokens(1));
        assertThat(body(VLLM, new Ask(request, "id", -1, 1, false))).contains("'seed':-9223372036854775808");
    }

    @Test
    void the_token_endpoint_and_sglang_are_told_the_same_by_their_names() {
        assertThat(body(new VllmTokens("m", true), ask(FULL))).isEqualTo("{'model':'m','request_id':'id',"
                + "'token_ids':[1,2,3],'sampling_params':{'n':1,'max_tokens':20,'temperature':0.75,'top_p':0.5,"
                + "'presence_penalty':0.5,'frequency_penalty':-0.25,'seed':11,'logit_bias':{'5':-100.0,'9':2.5},"
                + "'logprobs':3,'stop_token_ids':[2,7],'top_k':40,'min_p':0.125,'repetition_penalty':1.5,"
                + "'min_tokens':4,'ignore_eos':true,'allowed_token_ids':[5,6,9],'detokenize':false},"
                + "'cache_salt':'s:abc','stream':true,'stream_options':{'include_usage':true}}");
        assertThat(body(SGLANG, ask(FULL))).isEqualTo("{'rid':'id','input_ids':[1,2,3],'sampling_params':{'n':1,"
                + "'max_new_tokens':20,'min_new_tokens':4,'temperature':0.75,'top_p':0.5,'top_k':40,'min_p':0.125,"
                + "'presence_penalty':0.5,'frequency_penalty':-0.25,'repetition_penalty':1.5,'sampling_seed':11,"
                + "'stop_token_ids':[2,7],'ignore_eos':true,'no_stop_trim':true,'skip_special_tokens':false,"
                + "'logit_bias':{'5':-100.0,'9':2.5}},'return_logprob':true,'logprob_start_len':-1,"
                + "'top_logprobs_num':3,'cache_salt':'s:abc','stream':true}");
    }

    @Test
    void what_an_engine_would_pass_over_is_refused_by_name() {
        GenerateRequest plain = GenerateRequest.of("r", new int[] {1, 2}, SamplingParameters.GREEDY, maxTokens(5));
        GenerateRequest badWords = with(LogitRules.NONE.withBadWords(new int[] {4}));
        refuses(VLLM, badWords, "badWords");
        refuses(new VllmTokens("m", true), badWords, "badWords");
        refuses(SGLANG, badWords, "badWords");
        refuses(new VllmTokens("m", false), plain.withLogprobs(true, false, 0), "logprobs");
        refuses(OTHER, new GenerateRequest("r", 0, new int[] {1}, new SamplingParameters(1, 5, 1, 0), maxTokens(1),
                false, null, null, null, 0, 0), "topK");
        refuses(OTHER, with(LogitRules.NONE.withMinP(0.5f)), "minP");
        refuses(OTHER, GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY,
                StopConditions.pastTheEnd(5)), "ignoreEos");
        refuses(OTHER, salted(), "salt");
        refuses(new SglangTokens(/* takesSalt */ false), salted(), "salt");
        refuses(SGLANG, with(LogitRules.NONE.withAllowedTokens(3)), "allowedTokens");
        refuses(SGLANG, new GenerateRequest("r", 0, new int[] {1}, new SamplingParameters(0.5f, 0, 1, 0), maxTokens(1),
                true, null, null, null, 0, 0), "logprobs at temperature 0.5");
        VLLM.requireServed(ask(salted()));
        SGLANG.requireServed(ask(plain.withLogprobs(true, false, 5)));
        OTHER.requireServed(ask(plain));
    }

    private static GenerateRequest with(LogitRules rules) {
        return GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY.with(rules), maxTokens(5));
    }

    private static GenerateRequest salted() {
        return new GenerateRequest("r", 0, new int[] {1}, SamplingParameters.GREEDY, maxTokens(1), false, "s:x", null,
                null, 0, 0);
    }

    private static void refuses(Dialect dialect, GenerateRequest request, String field) {
        assertThatThrownBy(() -> dialect.requireServed(ask(request)))
                .isInstanceOfSatisfying(RefusedException.class, refused -> assertThat(refused.reason())
                        .isEqualTo(FailureReason.UNSUPPORTED))
                .hasMessageContaining(field);
    }

    @Test
    void completions_tell_scores_by_ids_and_a_drawn_token_beside_the_likeliest_is_not_one_of_them() throws Exception {
        Chunk chunk = VLLM.read(Dialect.JSON.readTree("""
                {"choices":[{"index":0,"text":"ab","token_ids":[30,9],"finish_reason":null,"logprobs":{
                "text_offset":[0,1],"token_logprobs":[-4.5,-9999.0],"tokens":["token_id:30","token_id:9"],
                "top_logprobs":[{"token_id:30":-4.5,"token_id:302":-5.0,"token_id:301":-5.0},
                {"token_id:9":-9999.0,"token_id:4":-1.5,"token_id:3":-1.0,"token_id:1":-2.0}]}}]}
                """), ask(FULL), 0);
        assertThat(chunk.ids()).containsExactly(30, 9);
        assertThat(chunk.scores().get(0).ids()).containsExactly(30, 301, 302);
        assertThat(chunk.scores().get(1).ids()).containsExactly(3, 4, 1);
        assertThat(chunk.scores().get(1).logprob()).isEqualTo(-9_999f);
        assertThat(chunk.scores().get(1).logprobs()).containsExactly(-1f, -1.5f, -2f);
        assertThat(chunk.end()).isNull();
    }

    @Test
    void answers_that_lack_what_was_asked_for_are_told_as_such() {
        unreadable(VLLM, "{\"choices\":[{\"text\":\"a\",\"token_ids\":null}]}", "text without token ids");
        unreadable(VLLM, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[-3]}]}", "'-3' for a token's id");
        unreadable(VLLM, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[3],\"logprobs\":null}]}",
                "0 log-probabilities of 1 tokens");
        unreadable(VLLM, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[3],\"logprobs\":{\"token_logprobs\":[-1.0],"
                + "\"top_logprobs\":[{\"token_id:3\":-1.0}]}}]}", "1 of 3 likeliest");
        unreadable(VLLM, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[3],\"logprobs\":{\"token_logprobs\":[-1.0],"
                + "\"top_logprobs\":[{\"a\":-1.0}]}}]}", "named a token 'a'");
        unreadable(VLLM, "{\"choices\":[{\"text\":\"\",\"token_ids\":[],\"finish_reason\":\"abort\","
                + "\"logprobs\":{\"token_logprobs\":[]}}]}", "ended its answer with '\"abort\"'");
        unreadable(SGLANG, "{\"text\":\"a\",\"meta_info\":{}}", "no output_ids");
        unreadable(SGLANG, "{\"output_ids\":[1,2],\"meta_info\":{\"completion_tokens\":7}}", "2 tokens and counted 7");
    }

    private static void unreadable(Dialect dialect, String piece, String message) {
        assertThatThrownBy(() -> dialect.read(Dialect.JSON.readTree(piece), ask(FULL), 0))
                .isInstanceOf(UnreadableAnswerException.class).hasMessageContaining(message);
    }

    @Test
    void sglang_tells_all_tokens_or_new_ones_and_both_are_told_once() throws Exception {
        GenerateRequest plain = GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, maxTokens(9));
        String all = "{\"output_ids\":[5,6,7],\"meta_info\":{\"completion_tokens\":3,\"prompt_tokens\":1,"
                + "\"cached_tokens\":0,\"finish_reason\":null}}";
        String fresh = "{\"output_ids\":[7],\"meta_info\":{\"completion_tokens\":3,\"finish_reason\":null}}";
        assertThat(sglang(all, plain, 2).ids()).containsExactly(7);
        assertThat(sglang(fresh, plain, 2).ids()).containsExactly(7);
        assertThat(sglang(all, plain, 0).ids()).containsExactly(5, 6, 7);
        assertThat(sglang(all, plain, 3).ids()).isEmpty();
        assertThat(sglang(all, plain, 3).usage()).isEqualTo(new Chunk.Counted(1, 0));
    }

    @Test
    void sglangs_stop_token_is_the_last_one_whether_it_lists_it_or_not() throws Exception {
        GenerateRequest plain = GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, maxTokens(9));
        String meta = "\"meta_info\":{\"completion_tokens\":%d,\"finish_reason\":{\"type\":\"stop\",\"matched\":2}}}";
        Chunk listed = sglang("{\"output_ids\":[5,2]," + meta.formatted(2), plain, 1);
        Chunk trimmed = sglang("{\"output_ids\":[5]," + meta.formatted(1), plain, 0);
        assertThat(listed.ids()).containsExactly(2);
        assertThat(trimmed.ids()).containsExactly(5, 2);
        assertThat(listed.end()).isEqualTo(FinishReason.STOP);
    }

    @Test
    void sglangs_scores_come_with_the_tokens_that_are_new() throws Exception {
        GenerateRequest scored = GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY, maxTokens(9))
                .withLogprobs(true, false, 2);
        Chunk chunk = sglang("{\"output_ids\":[5,6],\"meta_info\":{\"completion_tokens\":2,\"output_token_logprobs\":"
                + "[[-0.5,5,null],[-1.5,6,null]],\"output_top_logprobs\":[[[-0.5,5,null],[-2.0,8,null]],"
                + "[[-1.25,9,null],[-1.5,6,null]]]}}", scored, 1);
        assertThat(chunk.ids()).containsExactly(6);
        assertThat(chunk.scores()).hasSize(1);
        assertThat(chunk.scores().getFirst().logprob()).isEqualTo(-1.5f);
        assertThat(chunk.scores().getFirst().ids()).containsExactly(9, 6);
    }

    @Test
    void errors_within_a_stream_are_the_callers_the_limits_or_the_engines() throws Exception {
        assertThat(reason(VLLM, "{\"error\": {\"message\": \"m\", \"type\": \"BadRequestError\", \"code\": 400}}"))
                .isEqualTo(FailureReason.INVALID_REQUEST);
        assertThat(reason(VLLM, "{\"error\": {\"message\": \"m\", \"type\": \"InternalServerError\", \"code\": 500}}"))
                .isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(reason(SGLANG, "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"code\":null}}"))
                .isEqualTo(FailureReason.INVALID_REQUEST);
        assertThat(reason(SGLANG, "{\"output_ids\":[],\"meta_info\":{\"finish_reason\":{\"type\":\"abort\","
                + "\"message\":\"The request queue is full.\",\"status_code\":503}}}"))
                .isEqualTo(FailureReason.QUEUE_FULL);
        assertThat(reason(SGLANG, "{\"error\":\"it broke\"}")).isEqualTo(FailureReason.ENGINE_FAILURE);
    }

    private static FailureReason reason(Dialect dialect, String piece) throws UnreadableAnswerException {
        return dialect.read(Dialect.JSON.readTree(piece), ask(FULL), 0).failure().reason();
    }

    @Test
    void the_likeliest_are_sorted_and_the_lower_id_comes_first_among_equals() throws Exception {
        var likeliest = new Likeliest(3);
        int[] ids = {8, 2, 9, 4, 1};
        float[] logprobs = {-1f, -3f, -1f, -0.5f, -3f};
        for (int i = 0; i < ids.length; i++) {
            likeliest.add(ids[i], logprobs[i]);
        }
        assertThat(likeliest.of(-7f, 0).ids()).containsExactly(4, 8, 9);
        assertThat(likeliest.of(-7f, 0).logprobs()).containsExactly(-0.5f, -1f, -1f);
    }

    private static Chunk sglang(String piece, GenerateRequest request, int told) throws UnreadableAnswerException {
        return SGLANG.read(Dialect.JSON.readTree(piece), ask(request), told);
    }

    private static Ask ask(GenerateRequest request) {
        return new Ask(request, "id", 11, 20, request.promptLogprobs());
    }

    private static String body(Dialect dialect, Ask ask) {
        return new String(dialect.body(ask), StandardCharsets.UTF_8).replace('"', '\'');
    }
}
