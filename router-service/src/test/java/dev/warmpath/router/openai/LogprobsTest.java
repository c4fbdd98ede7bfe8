package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import tools.jackson.databind.JsonNode;

/** What is told of tokens beside their text: how likely they were, and their ids. */
class LogprobsTest extends RunningRouter {

    private static final String TEXT = "{'model':'tiny','prompt':'Hi you','max_tokens':20%s}";
    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]%s}";
    private static final int A = ids("A")[0];
    private static final int B = ids("B")[0];

    @Override
    protected int contextLength() {
        return 1_024;
    }

    /**
     * Draws these, the first with a log-probability of -1, each other one less by an eighth; the likeliest are A and B,
     * with -0.5 and -0.75. Of the prompt it tells the same.
     */
    private static FakeWorker.Script drawing(FinishReason reason, int... ids) {
        return (request, response) -> {
            List<String> lines = new ArrayList<>();
            int scored = request.promptLogprobs() ? request.promptTokens().length - 1 : 0;
            for (int i = 0; i < scored; i++) {
                lines.add(FakeWorker.line(new GenerateEvent.Prompt(scores(request, i, 1), new int[] {3 + i})));
            }
            int[] drawn = Arrays.copyOf(ids, Math.min(ids.length, request.stop().maxTokens()));
            for (int i = 0; i < drawn.length; i++) {
                lines.add(FakeWorker.line(new Tokens(0, new int[] {drawn[i]},
                        request.logprobs() ? scores(request, i, 1) : null)));
            }
            lines.add(FakeWorker.line(FakeWorker.finished(request, reason, 0, drawn.length)));
            return FakeWorker.sending(Flux.fromIterable(lines)).answer(request, response);
        };
    }

    private static Scores scores(GenerateRequest request, int first, int count) {
        int alternatives = request.alternatives();
        var logprobs = new float[count];
        var topIds = new int[count * alternatives];
        var topLogprobs = new float[count * alternatives];
        for (int i = 0; i < count; i++) {
            logprobs[i] = -1 - (first + i) / 8f;
            for (int k = 0; k < alternatives; k++) {
                topIds[i * alternatives + k] = k == 0 ? A : k == 1 ? B : k;
                topLogprobs[i * alternatives + k] = -0.5f - k / 4f;
            }
        }
        return new Scores(logprobs, topIds, topLogprobs);
    }

    private static JsonNode choice(HttpResponse<String> response) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return json(response).path("choices").path(0);
    }

    @Test
    void a_chat_tells_each_token_with_its_bytes_and_the_likeliest_ones_beside() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.STOP, concat(ids("A€"), END)));

        JsonNode choice = choice(post("/v1/chat/completions", CHAT.formatted(",'logprobs':true,'top_logprobs':2")));

        GenerateRequest sent = worker.requests().remove();
        assertThat(sent.logprobs()).isTrue();
        assertThat(sent.promptLogprobs()).isFalse();
        assertThat(sent.alternatives()).isEqualTo(2);
        assertThat(choice.path("message").path("content").asString()).isEqualTo("A€");
        JsonNode content = choice.path("logprobs").path("content");
        assertThat(content.path(0).toString()).isEqualTo("""
                {"token":"A","logprob":-0.5,"bytes":[65],"top_logprobs":[{"token":"A","logprob":-0.5,"bytes":[65]},\
                {"token":"B","logprob":-0.75,"bytes":[66]}]}""");
        assertThat(content).as("the end token is told, too").hasSize(ids("A€").length + 1);
        var bytes = new ArrayList<Integer>();
        content.forEach(token -> token.path("bytes").forEach(each -> bytes.add(each.asInt())));
        assertThat(bytes).startsWith(65, 0xe2, 0x82, 0xac);
        assertThat(content.path(content.size() - 1).path("token").asString()).isEqualTo("<|end|>");
        assertThat(content.path(1).path("logprob").asDouble()).isEqualTo(-1.125);
    }

    @Test
    void without_a_number_a_chat_tells_tokens_alone() {
        join("w0").doing(drawing(FinishReason.STOP, ids("B")));

        assertThat(choice(post("/v1/chat/completions", CHAT.formatted(",'logprobs':true"))).path("logprobs").toString())
                .isEqualTo("{\"content\":[{\"token\":\"B\",\"logprob\":-1.0,\"bytes\":[66],\"top_logprobs\":[]}],"
                        + "\"refusal\":null}");
    }

    @Test
    void a_stream_tells_the_same_tokens_with_the_text_that_they_are_part_of() {
        join("w0").doing(drawing(FinishReason.STOP, concat(ids("A€ and more"), END)));
        String asked = ",'logprobs':true,'top_logprobs':1";

        JsonNode whole = choice(post("/v1/chat/completions", CHAT.formatted(asked)));
        List<String> events = events(post("/v1/chat/completions", CHAT.formatted(asked + ",'stream':true")).body());

        var told = new ArrayList<String>();
        for (String event : events.subList(0, events.size() - 1)) {
            JsonNode choice = JSON.readTree(event).path("choices").path(0);
            choice.path("logprobs").path("content").forEach(token -> told.add(token.toString()));
        }
        var expected = new ArrayList<String>();
        whole.path("logprobs").path("content").forEach(token -> expected.add(token.toString()));
        assertThat(told).containsExactlyElementsOf(expected).isNotEmpty();
        assertThat(JSON.readTree(events.getFirst()).path("choices").path(0).path("logprobs").isNull()).isTrue();
    }

    @Test
    void what_is_told_goes_together_with_the_ids_and_the_count_of_drawn_tokens_whatever_ends_the_answer() {
        join("w0").doing(drawing(FinishReason.LENGTH, concat(ids("A B"), ids(" stop it"))));

        JsonNode answer = json(post("/v1/completions",
                TEXT.formatted(",'logprobs':0,'stop':' stop','return_token_ids':true")));

        JsonNode choice = answer.path("choices").path(0);
        assertThat(choice.path("text").asString()).isEqualTo("A B");
        assertThat(choice.path("finish_reason").asString()).isEqualTo("stop");
        int drawn = answer.path("usage").path("completion_tokens").asInt();
        assertThat(drawn).isBetween(ids("A B stop").length, ids("A B stop it").length - 1);
        assertThat(choice.path("token_ids")).hasSize(drawn);
        assertThat(choice.path("logprobs").path("tokens")).hasSize(drawn);
    }

    /** lm-evaluation-harness leaves out the last one told, whatever it is. */
    @Test
    void an_end_token_at_once_is_told_behind_an_echoed_prompt() {
        join("w0").doing(drawing(FinishReason.STOP, END));

        JsonNode choice = choice(post("/v1/completions", TEXT.formatted(",'echo':true,'logprobs':1")));

        JsonNode tokens = choice.path("logprobs").path("tokens");
        assertThat(tokens).hasSize(ids("Hi you").length + 2);
        assertThat(tokens.path(tokens.size() - 1).asString()).isEqualTo("<|end|>");
        assertThat(choice.path("text").asString()).isEqualTo("Hi you");
    }

    @Test
    void offsets_count_characters_as_python_does() {
        join("w0").doing(drawing(FinishReason.LENGTH, concat(ids("x"), ids("B"))));

        JsonNode logprobs = choice(post("/v1/completions",
                "{'model':'tiny','prompt':'a😀b','echo':true,'logprobs':0,'max_tokens':2}")).path("logprobs");

        int count = logprobs.path("text_offset").size();
        assertThat(logprobs.path("text_offset").path(count - 2).asInt()).isEqualTo(3);
        assertThat(logprobs.path("text_offset").path(count - 1).asInt()).isEqualTo(4);
    }

    @Test
    void a_chat_that_is_read_for_reasoning_tells_its_tokens_with_the_parts() {
        join("w0").doing(drawing(FinishReason.STOP, concat(ids("A B"), END)));

        List<String> events = events(post("/v1/chat/completions", CHAT.formatted(
                ",'logprobs':true,'stream':true,'tools':[]")).body());

        int told = 0;
        for (String event : events.subList(0, events.size() - 1)) {
            told += JSON.readTree(event).path("choices").path(0).path("logprobs").path("content").size();
        }
        assertThat(told).isEqualTo(ids("A B").length + 1);
    }

    @Test
    void a_text_tells_lists_that_go_together_and_has_the_token_itself_among_the_likeliest() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, concat(ids("A"), ids("x"))));

        JsonNode logprobs = choice(post("/v1/completions", TEXT.formatted(",'logprobs':2"))).path("logprobs");

        assertThat(worker.requests().remove().alternatives()).isEqualTo(2);
        assertThat(logprobs.toString()).isEqualTo("""
                {"text_offset":[0,1],"token_logprobs":[-0.5,-1.125],"tokens":["A","x"],"top_logprobs":\
                [{"A":-0.5,"B":-0.75},{"A":-0.5,"B":-0.75,"x":-1.125}]}""");
    }

    @Test
    void parts_of_a_character_are_told_by_their_bytes() {
        join("w0").doing(drawing(FinishReason.LENGTH, ids("€")));

        JsonNode logprobs = choice(post("/v1/completions", TEXT.formatted(",'logprobs':0"))).path("logprobs");

        var all = new StringBuilder();
        logprobs.path("tokens").forEach(token -> all.append(token.asString().replace("bytes:", "")));
        assertThat(all).hasToString("\\xe2\\x82\\xac");
        assertThat(logprobs.path("text_offset").path(0).asInt()).isZero();
    }

    /** What lm-evaluation-harness asks to score a text. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void echo_tells_what_the_prompt_was_to_the_model(int maxTokens) {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, A));
        int[] prompt = ids("Hi you B");

        JsonNode answer = json(post("/v1/completions", "{'model':'tiny','prompt':[" + JSON.writeValueAsString(prompt)
                + "],'max_tokens':" + maxTokens + ",'logprobs':1,'echo':true,'temperature':0,'seed':1234}"));

        GenerateRequest sent = worker.requests().remove();
        assertThat(sent.promptLogprobs()).isTrue();
        assertThat(sent.stop().maxTokens()).isEqualTo(1);
        JsonNode choice = answer.path("choices").path(0);
        assertThat(choice.path("text").asString()).isEqualTo("Hi you B" + (maxTokens == 0 ? "" : "A"));
        JsonNode logprobs = choice.path("logprobs");
        assertThat(logprobs.path("tokens")).hasSize(prompt.length + maxTokens);
        assertThat(logprobs.path("token_logprobs").path(0).isNull()).isTrue();
        assertThat(logprobs.path("top_logprobs").path(0).isNull()).isTrue();
        assertThat(logprobs.path("token_logprobs").path(1).asDouble()).isEqualTo(-1.0);
        assertThat(logprobs.path("top_logprobs").path(1).path("A").asDouble()).isEqualTo(-0.5);
        assertThat(logprobs.path("top_logprobs").path(1)).as("the likeliest and itself").hasSize(2);
        var joined = new StringBuilder();
        for (int i = 0; i < logprobs.path("tokens").size(); i++) {
            assertThat(logprobs.path("text_offset").path(i).asInt()).isEqualTo(joined.length());
            joined.append(logprobs.path("tokens").path(i).asString());
        }
        assertThat(joined.toString()).isEqualTo(choice.path("text").asString());
        assertThat(choice.path("finish_reason").asString()).isEqualTo("length");
        assertThat(answer.path("usage").path("completion_tokens").asInt()).isEqualTo(maxTokens);
    }

    @Test
    void echo_alone_asks_nothing_of_the_worker() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, ids("!")));

        JsonNode choice = choice(post("/v1/completions", TEXT.formatted(",'echo':true")));

        assertThat(choice.path("text").asString()).isEqualTo("Hi you!");
        assertThat(choice.path("logprobs").isNull()).isTrue();
        assertThat(worker.requests().remove().promptLogprobs()).isFalse();
    }

    @Test
    void a_stream_echoes_the_prompt_before_the_answer() {
        join("w0").doing(drawing(FinishReason.LENGTH, ids("A B")));

        List<String> events = events(post("/v1/completions",
                TEXT.formatted(",'echo':true,'logprobs':1,'stream':true")).body());

        var text = new StringBuilder();
        var tokens = new ArrayList<String>();
        for (String event : events.subList(0, events.size() - 1)) {
            JsonNode choice = JSON.readTree(event).path("choices").path(0);
            text.append(choice.path("text").asString());
            choice.path("logprobs").path("tokens").forEach(token -> tokens.add(token.asString()));
        }
        assertThat(text).hasToString("Hi youA B");
        assertThat(String.join("", tokens)).isEqualTo("<|begin|>Hi youA B");
    }

    @Test
    void a_prompts_own_special_tokens_are_echoed_and_the_begin_token_that_we_add_is_not() {
        join("w0").doing(drawing(FinishReason.LENGTH, ids("!")));

        assertThat(choice(post("/v1/completions", "{'model':'tiny','prompt':'a<|end|>b','echo':true,'max_tokens':1}"))
                .path("text").asString()).isEqualTo("a<|end|>b!");
    }

    @Test
    void prompt_logprobs_are_told_by_id_with_rank_and_text_beside_fewer_of_the_answer() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, ids("x")));

        JsonNode choice = choice(post("/v1/completions", TEXT.formatted(",'prompt_logprobs':1,'logprobs':0")));

        GenerateRequest sent = worker.requests().remove();
        JsonNode told = choice.path("prompt_logprobs");
        assertThat(told).hasSize(sent.promptTokens().length);
        assertThat(told.path(0).isNull()).isTrue();
        int id = sent.promptTokens()[1];
        assertThat(told.path(1).toString()).isEqualTo("{\"" + id + "\":{\"logprob\":-1.0,\"rank\":3,\"decoded_token\":\""
                + TOKENIZER.decode(new int[] {id}) + "\"},\"" + A
                + "\":{\"logprob\":-0.5,\"rank\":1,\"decoded_token\":\"A\"}}");
        assertThat(choice.path("logprobs").path("top_logprobs").path(0).toString()).isEqualTo("{\"x\":-1.0}");
    }

    @Test
    void a_chat_tells_its_prompts_at_the_top_and_a_prompt_of_one_token_has_nothing_to_tell() {
        join("w0").doing(drawing(FinishReason.LENGTH, ids("x")));

        JsonNode answer = json(post("/v1/chat/completions", CHAT.formatted(",'prompt_logprobs':0,'max_tokens':1")));
        assertThat(answer.path("prompt_logprobs").size()).isEqualTo(answer.path("usage").path("prompt_tokens").asInt());
        assertThat(answer.path("choices").path(0).path("logprobs").isNull()).isTrue();

        assertThat(choice(post("/v1/completions", "{'model':'tiny','prompt':[" + A
                + "],'prompt_logprobs':0,'max_tokens':1}")).path("prompt_logprobs").toString()).isEqualTo("[null]");
    }

    @Test
    void nothing_cached_is_expected_for_a_prompt_that_has_to_be_computed() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, ids("x")));
        int[] prompt = ids("Hi you Hi you Hi you");
        announce(worker, prompt, 2);
        String body = "{'model':'tiny','prompt':" + JSON.writeValueAsString(prompt) + ",'max_tokens':1%s}";

        assertThat(post("/v1/completions", body.formatted("")).headers().firstValue("x-warmpath-cached-tokens"))
                .hasValue("8");
        assertThat(post("/v1/completions", body.formatted(",'prompt_logprobs':0")).headers()
                .firstValue("x-warmpath-cached-tokens")).hasValue("0");
    }

    @Test
    void token_ids_of_prompt_and_answer_are_told_whole_and_streamed() {
        int[] drawn = concat(ids("A€ B"), END);
        FakeWorker worker = join("w0").doing(drawing(FinishReason.STOP, drawn));

        JsonNode text = choice(post("/v1/completions", TEXT.formatted(",'return_token_ids':true")));
        int[] prompt = worker.requests().remove().promptTokens();
        assertThat(text.path("token_ids").toString()).isEqualTo(JSON.writeValueAsString(drawn));
        assertThat(text.path("prompt_token_ids").toString()).isEqualTo(JSON.writeValueAsString(prompt));
        JsonNode chat = json(post("/v1/chat/completions", CHAT.formatted(",'return_token_ids':true")));
        assertThat(chat.path("choices").path(0).path("token_ids").toString()).isEqualTo(JSON.writeValueAsString(drawn));
        assertThat(chat.path("prompt_token_ids").toString())
                .isEqualTo(JSON.writeValueAsString(worker.requests().remove().promptTokens()));

        List<String> events = events(post("/v1/completions",
                TEXT.formatted(",'return_token_ids':true,'stream':true")).body());
        var told = new ArrayList<Integer>();
        for (String event : events.subList(0, events.size() - 1)) {
            JSON.readTree(event).path("choices").path(0).path("token_ids").forEach(id -> told.add(id.asInt()));
        }
        assertThat(told).containsExactlyElementsOf(Arrays.stream(drawn).boxed().toList());
        assertThat(JSON.readTree(events.getFirst()).path("choices").path(0).path("prompt_token_ids").toString())
                .isEqualTo(JSON.writeValueAsString(prompt));
    }

    @Test
    void a_prompt_is_cut_to_its_last_tokens_where_that_is_asked_for() {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("x")));
        int[] prompt = ids("Hi you ".repeat(400));
        assertThat(prompt.length).isGreaterThan(contextLength());
        String body = "{'model':'tiny','prompt':'" + "Hi you ".repeat(400) + "','max_tokens':4,'truncate_prompt_tokens':%d}";

        assertThat(post("/v1/completions", body.formatted(5)).statusCode()).isEqualTo(200);
        assertThat(worker.requests().remove().promptTokens())
                .containsExactly(Arrays.copyOfRange(prompt, prompt.length - 5, prompt.length));
        JsonNode toContext = json(post("/v1/completions", body.formatted(-1)));
        assertThat(toContext.path("usage").path("prompt_tokens").asInt()).isEqualTo(contextLength() - 4);
        assertThat(message(body.formatted(0))).isEqualTo(
                "'truncate_prompt_tokens' is 0, it must be at least 1, or -1 for what the context takes");
    }

    @Test
    void a_priority_goes_to_the_worker() {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("x")));

        post("/v1/completions", TEXT.formatted(",'priority':-3"));

        assertThat(worker.requests().remove().priority()).isEqualTo(-3);
    }

    @Test
    void what_does_not_go_together_is_refused_by_name() {
        assertThat(message(TEXT.formatted(",'prompt_logprobs':1,'stream':true")))
                .isEqualTo("'prompt_logprobs' is only taken without 'stream': true");
        assertThat(message(TEXT.formatted(",'logprobs':21"))).isEqualTo(
                "'logprobs' is 21, it must be at least 0 and at most 20");
        assertThat(message("{'model':'tiny','prompt':'Hi','max_tokens':0}"))
                .isEqualTo("'max_tokens' is 0, it must be at least 1 without 'echo': true");
        HttpResponse<String> chat = post("/v1/chat/completions", CHAT.formatted(",'top_logprobs':2"));
        assertThat(json(chat).path("error").path("message").asString())
                .isEqualTo("'top_logprobs' is only taken with 'logprobs': true");
    }

    @Test
    void more_of_a_prompt_than_a_router_can_hold_is_refused_by_its_number() {
        join("w0").doing(drawing(FinishReason.LENGTH, A));
        String prompt = JSON.writeValueAsString(new int[1_000]);

        assertThat(message("{'model':'tiny','prompt':" + prompt
                + ",'n':128,'echo':true,'logprobs':20,'max_tokens':0}")).isEqualTo(
                        "'logprobs' asks for 2688000 log-probabilities of the prompt, at most 1048576 are told");
        assertThat(message("{'model':'tiny','prompt':" + prompt + ",'n':128,'prompt_logprobs':20}")).isEqualTo(
                "'prompt_logprobs' asks for 2688000 log-probabilities of the prompt, at most 1048576 are told");
    }

    @Test
    void memory_for_what_is_told_of_tokens_is_held_until_the_answer_is_written() throws Exception {
        join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(FakeWorker.line(
                new Tokens(0, new int[] {A, A, A, A}, scores(request, 0, 4)))).concatWith(Flux.never()))
                .answer(request, response));

        try (var _ = rawClient("{'model':'tiny','prompt':'Hi','logprobs':20,'max_tokens':9,'n':1}")) {
            eventually(() -> heldBytes() > 4 * 21 * 200);
        }
        eventually(() -> heldBytes() == 0);

        try (var _ = rawClient("{'model':'tiny','prompt':" + JSON.writeValueAsString(new int[500])
                + ",'logprobs':20,'max_tokens':9,'echo':true,'stream':true}")) {
            eventually(() -> heldBytes() > 500 * 21 * 200);
        }
        eventually(() -> heldBytes() == 0);
    }

    @Test
    void more_of_an_answer_than_a_router_can_hold_is_refused_or_if_the_client_names_no_length_not_drawn() {
        FakeWorker worker = join("w0").doing(drawing(FinishReason.LENGTH, A));

        assertThat(message("{'model':'tiny','prompt':'Hi','n':128,'logprobs':20,'max_tokens':1000}")).isEqualTo(
                "'logprobs' asks for up to 2688000 log-probabilities, at most 1048576 are told");
        post("/v1/chat/completions", CHAT.formatted(",'n':128,'logprobs':true,'top_logprobs':20"));
        assertThat(worker.requests().remove().stop().maxTokens()).isEqualTo(1_048_576 / (128 * 21));
    }

    private String message(String body) {
        HttpResponse<String> response = post("/v1/completions", body);
        assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
        return json(response).path("error").path("message").asString();
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{'type':'tokens','index':0,'ids':[65]}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':[-1,-2],'topIds':[65],'topLogprobs':[-1]}}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':[0.5],'topIds':[65],'topLogprobs':[-1]}}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':['NaN'],'topIds':[65],'topLogprobs':[-1]}}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':[-1],'topIds':[],'topLogprobs':[]}}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':[-1],'topIds':[483],'topLogprobs':[-1]}}",
        "{'type':'prompt','scores':{'logprobs':[],'topIds':[],'topLogprobs':[]},'ranks':[]}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':null,'topIds':null,'topLogprobs':null}}",
    })
    void a_worker_that_tells_log_probabilities_that_are_none_is_refused(String line) {
        join("w0").doing(FakeWorker.sending(Flux.just(line.replace('\'', '"') + "\n")));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'logprobs':1"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(502);
    }

    @Test
    void a_worker_that_does_not_tell_all_of_a_prompt_is_refused() {
        join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(
                FakeWorker.line(new Tokens(0, new int[] {A}, scores(request, 0, 1))),
                FakeWorker.line(FakeWorker.finished(request, FinishReason.LENGTH, 0, 1)))).answer(request, response));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'echo':true,'logprobs':1"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(502);
    }

    private static int[] concat(int[] one, int... other) {
        int[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }
}
