package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import tools.jackson.databind.JsonNode;

/** Several answers to one request: of one prompt, or to several. */
class ChoicesTest extends RunningRouter {

    private static final String TEXT = "{'model':'tiny','prompt':'Hi','max_tokens':20%s}";
    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]%s}";

    /** The choices' tokens in turns, each with a log-probability that grows with its choice; then their ends. */
    private static FakeWorker.Script saying(int cachedTokens, String... texts) {
        return (request, response) -> {
            List<String> lines = new ArrayList<>();
            int[][] ids = Arrays.stream(texts).map(RunningRouter::ids).toArray(int[][]::new);
            int longest = Arrays.stream(ids).mapToInt(each -> each.length).max().orElseThrow();
            for (int at = 0; at < longest; at++) {
                for (int choice = 0; choice < ids.length; choice++) {
                    if (at < ids[choice].length) {
                        lines.add(FakeWorker.line(token(request, choice, ids[choice][at])));
                    }
                }
            }
            for (int choice = 0; choice < ids.length; choice++) {
                lines.add(FakeWorker.line(end(request, choice, cachedTokens, ids[choice].length)));
            }
            return FakeWorker.sending(Flux.fromIterable(lines)).answer(request, response);
        };
    }

    private static Tokens token(GenerateRequest request, int choice, int id) {
        return new Tokens(choice, new int[] {id}, request.logprobs()
                ? new Scores(new float[] {-5f + choice}, new int[0], new float[0]) : null);
    }

    private static Finished end(GenerateRequest request, int choice, int cachedTokens, int tokens) {
        return new Finished(choice, FinishReason.STOP, new Usage(request.promptTokens().length, cachedTokens, tokens));
    }

    private static List<String> texts(JsonNode answer) {
        return StreamSupport.stream(answer.path("choices").spliterator(), false)
                .map(choice -> choice.path("text").asString(choice.path("message").path("content").asString("")))
                .toList();
    }

    @Test
    void n_answers_are_drawn_by_one_generation_and_their_tokens_are_counted_together() {
        FakeWorker worker = join("w0").doing(saying(1, "One", "Two and", "Three"));

        JsonNode answer = json(post("/v1/chat/completions", CHAT.formatted(",'n':3,'seed':7")));

        GenerateRequest sent = worker.requests().remove();
        assertThat(sent.choices()).isEqualTo(3);
        assertThat(sent.sampling().seed()).isEqualTo(7);
        assertThat(sent.logprobs()).isFalse();
        assertThat(texts(answer)).containsExactly("One", "Two and", "Three");
        assertThat(answer.path("choices").path(2).path("index").asInt()).isEqualTo(2);
        assertThat(answer.path("choices").path(1).path("finish_reason").asString()).isEqualTo("stop");
        int drawn = ids("One").length + ids("Two and").length + ids("Three").length;
        assertThat(answer.path("usage").toString()).isEqualTo(("{\"prompt_tokens\":%d,\"completion_tokens\":%d,"
                + "\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":1}}").formatted(
                        sent.promptTokens().length, drawn, sent.promptTokens().length + drawn));
    }

    @Test
    void a_stream_has_each_choice_by_its_index_with_a_role_and_an_end_of_its_own_and_one_usage() {
        join("w0").doing(saying(0, "One", "Two and"));

        List<String> events = events(post("/v1/chat/completions",
                CHAT.formatted(",'n':2,'stream':true,'stream_options':{'include_usage':true}")).body());

        assertThat(events.stream().filter("[DONE]"::equals)).hasSize(1);
        assertThat(events.getLast()).isEqualTo("[DONE]");
        List<JsonNode> chunks = events.subList(0, events.size() - 1).stream().map(JSON::readTree).toList();
        for (int index = 0; index < 2; index++) {
            int wanted = index;
            List<JsonNode> own = chunks.stream().map(chunk -> chunk.path("choices").path(0))
                    .filter(choice -> choice.path("index").asInt(-1) == wanted).toList();
            assertThat(own.getFirst().path("delta").path("role").asString()).isEqualTo("assistant");
            assertThat(own.stream().map(choice -> choice.path("delta").path("content").asString("")))
                    .as("choice " + index).satisfies(texts -> assertThat(String.join("", texts))
                            .isEqualTo(wanted == 0 ? "One" : "Two and"));
            assertThat(own.stream().filter(choice -> !choice.path("finish_reason").isNull())).hasSize(1);
            assertThat(own.getLast().path("finish_reason").asString()).isEqualTo("stop");
        }
        assertThat(chunks.getLast().path("choices")).isEmpty();
        assertThat(chunks.getLast().path("usage").path("completion_tokens").asInt())
                .isEqualTo(ids("One").length + ids("Two and").length);
    }

    @Test
    void usage_all_along_grows_with_each_choice() {
        join("w0").doing(saying(0, "One two", "Two and"));

        List<String> events = events(post("/v1/completions", TEXT.formatted(
                ",'n':2,'stream':true,'stream_options':{'include_usage':true,'continuous_usage_stats':true}")).body());

        List<Integer> told = events.subList(0, events.size() - 1).stream()
                .map(event -> JSON.readTree(event).path("usage").path("completion_tokens").asInt()).toList();
        assertThat(told).isSorted().startsWith(1, 2).endsWith(ids("One two").length + ids("Two and").length);
    }

    @Test
    void a_stop_string_ends_its_own_choice_and_the_worker_is_asked_to_end_that_one() {
        FakeWorker worker = join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(
                        line(request, 1, "a stop b"), line(request, 0, "longer"), line(request, 0, " text"))
                .concatWithValues(FakeWorker.line(end(request, 1, 0, ids("a stop b").length)),
                        FakeWorker.line(end(request, 0, 0, ids("longer").length + ids(" text").length))))
                .answer(request, response));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'n':2,'stop':' stop'")));

        assertThat(texts(answer)).containsExactly("longer text", "a");
        eventually(() -> !worker.stops().isEmpty());
        assertThat(worker.stops()).containsExactly("?choice=1");
    }

    private static String line(GenerateRequest request, int choice, String text) {
        return Arrays.stream(ids(text)).mapToObj(id -> FakeWorker.line(token(request, choice, id)))
                .reduce("", String::concat);
    }

    @Test
    void when_stop_strings_have_ended_all_choices_the_answer_waits_for_no_more_tokens() {
        join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(line(request, 1, "a stop b"),
                line(request, 0, "c stop d")).concatWith(Flux.never())).answer(request, response));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'n':2,'stop':' stop'")));

        assertThat(texts(answer)).containsExactly("c", "a");
        assertThat(answer.path("usage").path("completion_tokens").asInt()).isPositive();
    }

    @Test
    void a_worker_that_dies_between_choices_is_forgotten_and_another_one_draws_all_of_them() {
        join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(line(request, 0, "Lost"),
                FakeWorker.line(end(request, 0, 0, ids("Lost").length)))).answer(request, response));
        join("w1").doing((request, response) -> FakeWorker.sending(Flux.just(line(request, 0, "Lost"),
                FakeWorker.line(end(request, 0, 0, ids("Lost").length)))).answer(request, response));
        join("w2").doing(saying(0, "One", "Two"));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'n':2"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(texts(json(response))).containsExactly("One", "Two");
        assertThat(json(response).path("usage").path("completion_tokens").asInt())
                .isEqualTo(ids("One").length + ids("Two").length);
    }

    @Test
    void a_stream_that_has_told_the_end_of_a_choice_is_not_begun_anew() throws Exception {
        join("w0").doing((request, response) -> FakeWorker.sending(Flux.just(
                FakeWorker.line(new Tokens(0, new int[] {END}, null)), FakeWorker.line(end(request, 0, 0, 1))))
                .answer(request, response));
        FakeWorker other = join("w1").doing((request, response) -> FakeWorker.sending(Flux.just(
                FakeWorker.line(new Tokens(0, new int[] {END}, null)), FakeWorker.line(end(request, 0, 0, 1))))
                .answer(request, response));

        String stream = rawCompletion("{'model':'tiny','prompt':'Hi','n':2,'stream':true}");

        assertBroken(stream, "worker_lost");
        assertThat(events(stream).stream().filter(event -> event.contains("\"finish_reason\":\"stop\""))).hasSize(1);
        assertThat(other.requests().size() + other.generations()).isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{'type':'tokens','index':2,'ids':[65]}",                                    // one of two
        "{'type':'tokens','index':-1,'ids':[65]}",
        "{'type':'tokens','index':0,'ids':[65],'scores':{'logprobs':[-1],'topIds':[],'topLogprobs':[]}}",
        "{'type':'prompt','scores':{'logprobs':[-1],'topIds':[],'topLogprobs':[]},'ranks':[1]}",
        "{'type':'prompt','scores':null,'ranks':null}",
        "{'type':'finished','index':7,'reason':'stop','usage':{'promptTokens':1,'cachedTokens':0,'completionTokens':0}}",
        "{'type':'finished','reason':'stop','usage':{'promptTokens':99,'cachedTokens':0,'completionTokens':0}}",
    })
    void a_worker_that_tells_what_it_was_not_asked_is_refused(String line) {
        join("w0").doing(FakeWorker.sending(Flux.just(line.replace('\'', '"') + "\n")));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'n':2"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(502);
    }

    @Test
    void a_worker_that_cannot_give_several_answers_is_not_asked() {
        joinOutdated("w0");

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'n':2"));

        assertThat(response.statusCode()).isEqualTo(503);
    }

    @Test
    void best_of_shows_the_answers_that_the_model_had_most_confidence_in_and_counts_all() {
        FakeWorker worker = join("w0").doing(saying(0, "One", "Two", "Three"));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'n':2,'best_of':3")));

        GenerateRequest sent = worker.requests().remove();
        assertThat(sent.choices()).isEqualTo(3);
        assertThat(sent.logprobs()).isTrue();
        assertThat(texts(answer)).containsExactly("Three", "Two");
        assertThat(answer.path("choices").path(0).path("logprobs").isNull()).isTrue();
        assertThat(answer.path("choices").path(1).path("index").asInt()).isEqualTo(1);
        assertThat(answer.path("usage").path("completion_tokens").asInt())
                .isEqualTo(ids("One").length + ids("Two").length + ids("Three").length);
    }

    @Test
    void best_of_asks_nothing_of_an_echoed_prompt_and_does_not_count_it() {
        FakeWorker worker = join("w0").doing(saying(0, "One two three four", "Two"));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'best_of':2,'echo':true")));

        assertThat(worker.requests().remove().promptLogprobs()).isFalse();
        assertThat(texts(answer)).containsExactly("HiTwo");
    }

    @Test
    void several_prompts_are_answered_together_each_with_its_own_choices_in_order() {
        FakeWorker worker = join("w0").doing((request, response) -> saying(1,
                TOKENIZER.decode(request.promptTokens()) + "!", TOKENIZER.decode(request.promptTokens()) + "?")
                        .answer(request, response));
        int[] ids = ids("Two");

        JsonNode answer = json(post("/v1/completions", "{'model':'tiny','n':2,'seed':5,'prompt':['One'," + JSON
                .writeValueAsString(ids) + ",'Three']}"));

        assertThat(texts(answer)).containsExactly("One!", "One?", "Two!", "Two?", "Three!", "Three?");
        assertThat(answer.path("choices").path(5).path("index").asInt()).isEqualTo(5);
        int prompt = 0;
        for (int i = 0; i < 3; i++) {
            GenerateRequest sent = worker.requests().remove();
            prompt += sent.promptTokens().length;
            assertThat(sent.sampling().seed()).isEqualTo(5);
        }
        assertThat(answer.path("usage").path("prompt_tokens").asInt()).isEqualTo(prompt);
        assertThat(answer.path("usage").path("prompt_tokens_details").path("cached_tokens").asInt()).isEqualTo(3);
    }

    @Test
    void equal_prompts_of_one_request_are_drawn_with_seeds_of_their_own_unless_the_client_has_one() {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.STOP, 0, END));

        assertThat(post("/v1/completions", "{'model':'tiny','prompt':['Hi','Hi']}").statusCode()).isEqualTo(200);

        assertThat(worker.requests().remove().sampling().seed())
                .isNotEqualTo(worker.requests().remove().sampling().seed());
    }

    @Test
    void a_stream_of_several_prompts_has_all_choices_one_usage_and_one_end() {
        join("w0").doing((request, response) -> saying(0, TOKENIZER.decode(request.promptTokens()) + "!")
                .answer(request, response));
        String prompts = String.join(",", IntStream.range(0, 20).mapToObj(i -> "'P" + i + "'").toList());

        List<String> events = events(post("/v1/completions", "{'model':'tiny','stream':true,'max_tokens':20,"
                + "'stream_options':{'include_usage':true},'prompt':[" + prompts + "]}").body());

        assertThat(events.stream().filter("[DONE]"::equals)).hasSize(1);
        assertThat(events.getLast()).isEqualTo("[DONE]");
        var texts = new String[20];
        Arrays.fill(texts, "");
        int ends = 0;
        for (String event : events.subList(0, events.size() - 2)) {
            JsonNode choice = JSON.readTree(event).path("choices").path(0);
            texts[choice.path("index").asInt()] += choice.path("text").asString();
            ends += choice.path("finish_reason").isNull() ? 0 : 1;
        }
        assertThat(texts).containsExactly(
                IntStream.range(0, 20).mapToObj(i -> "P" + i + "!").toArray(String[]::new));
        assertThat(ends).isEqualTo(20);
        assertThat(JSON.readTree(events.get(events.size() - 2)).path("usage").path("completion_tokens").asInt())
                .isEqualTo(IntStream.range(0, 20).map(i -> ids("P" + i + "!").length).sum());
    }

    @Test
    void if_one_of_several_prompts_cannot_be_answered_none_is() {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter(65));

        HttpResponse<String> response = post("/v1/completions",
                "{'model':'tiny','prompt':['Hi',[9999]],'max_tokens':4}");

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(json(response).path("error").path("message").asString())
                .isEqualTo("'prompt[1][0]' is 9999, the model's token ids are 0 to 482");
        eventually(() -> worker.generations() == 0);
    }

    @Test
    void more_prompts_or_answers_than_anybody_needs_are_refused_by_their_numbers() {
        String many = String.join(",", IntStream.range(0, 129).mapToObj(_ -> "'a'").toList());

        assertThat(message("{'model':'tiny','prompt':[" + many + "]}"))
                .isEqualTo("'prompt' holds 129 prompts, at most 128 are taken");
        assertThat(message("{'model':'tiny','prompt':['a','b','c','d','e'],'n':128}")).isEqualTo(
                "5 prompts with 128 answers each are asked for, at most 512 answers in all are given");
        assertThat(message(TEXT.formatted(",'n':129"))).isEqualTo("'n' is 129, it must be at least 1 and at most 128");
        assertThat(message(TEXT.formatted(",'n':0"))).isEqualTo("'n' is 0, it must be at least 1 and at most 128");
        assertThat(message(TEXT.formatted(",'n':3,'best_of':2"))).isEqualTo("'best_of' is 2, below 'n', which is 3");
        assertThat(message(TEXT.formatted(",'best_of':2,'stream':true")))
                .isEqualTo("'best_of' above 'n' is only taken without 'stream': true");
    }

    private String message(String body) {
        HttpResponse<String> response = post("/v1/completions", body);
        assertThat(response.statusCode()).isEqualTo(400);
        return json(response).path("error").path("message").asString();
    }

    @Test
    void a_client_that_leaves_ends_all_prompts_of_its_request() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.drawing(65));
        try (var socket = rawClient("{'model':'tiny','prompt':['a','b','c'],'max_tokens':50,'stream':true}")) {
            eventually(() -> worker.generations() == 3);
            assertThat(socket.getInputStream().read()).isPositive();
        }
        eventually(() -> worker.generations() == 0);
    }
}
