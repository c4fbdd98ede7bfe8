package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.metrics.RouterMeter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** What clients get when all goes well. */
class AnswersTest extends RunningRouter {

    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]%s}";
    private static final String TEXT = "{'model':'tiny','prompt':'Hi'%s}";

    /** RFC 9112, 6.1: a client of HTTP/1.0 is sent no transfer codings; the end of the connection is the end. */
    @ParameterizedTest
    @ValueSource(strings = {"", "connection: keep-alive\r\n"})
    void a_stream_for_a_client_of_http_1_0_has_no_chunks(String header) throws IOException {
        join("w0").doing(FakeWorker.finishing(FinishReason.STOP, 0, concat(ids("Hello"), END)));
        String body = TEXT.formatted(",'stream':true").replace('\'', '"');

        String answer;
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            socket.getOutputStream().write(("POST /v1/completions HTTP/1.0\r\n" + header
                    + "content-type: application/json\r\ncontent-length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
        String head = answer.substring(0, answer.indexOf("\r\n\r\n") + 4);
        assertThat(head.toLowerCase(Locale.ROOT)).contains(" 200 ok").doesNotContain("transfer-encoding");
        assertThat(answer.substring(head.length())).startsWith("data: {").endsWith("data: [DONE]\n\n");
    }

    @Test
    void a_whole_chat_answer_has_every_field_that_clients_read() throws Exception {
        FakeWorker worker = join("w0")
                .doing(FakeWorker.finishing(FinishReason.STOP, 3, concat(ids("Hello world"), END)));

        HttpResponse<String> response = post("/v1/chat/completions", CHAT.formatted(",'temperature':0"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        JsonNode answer = json(response);
        int generated = ids("Hello world").length + 1;
        assertThat(answer.path("id").asString()).startsWith("chatcmpl-");
        assertThat(answer.path("created").asLong()).isGreaterThan(1_700_000_000L);
        int prompt = promptOf(worker).length;
        assertThat(answer.path("object").asString()).isEqualTo("chat.completion");
        assertThat(answer.path("model").asString()).isEqualTo("tiny");
        assertThat(answer.path("system_fingerprint").asString()).isEqualTo(REVISION);
        assertThat(answer.path("choices").toString()).isEqualTo("""
                [{"index":0,"message":{"role":"assistant","content":"Hello world","refusal":null},"logprobs":null,\
                "finish_reason":"stop"}]""");
        assertThat(answer.path("usage").toString()).isEqualTo(("""
                {"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":\
                {"cached_tokens":3}}""").formatted(prompt, generated, prompt + generated));
        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w0");
        assertThat(response.headers().firstValue("x-warmpath-cached-tokens")).hasValue("0");
        assertThat(response.headers().firstValue("x-warmpath-decision")).hasValue("only_one");
        assertThat(response.headers().firstValue("x-request-id").orElseThrow()).hasSize(32);
    }

    @Test
    void a_chat_stream_begins_with_the_role_and_ends_with_reason_usage_and_done() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("Hello")));

        HttpResponse<String> response = post("/v1/chat/completions",
                CHAT.formatted(",'stream':true,'stream_options':{'include_usage':true}"));

        assertThat(response.headers().firstValue("content-type")).hasValue("text/event-stream");
        assertThat(response.headers().firstValue("cache-control")).hasValue("no-cache");
        assertThat(response.headers().firstValue("x-accel-buffering")).hasValue("no");
        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w0");
        List<String> events = events(response.body());
        assertThat(events.getLast()).isEqualTo("[DONE]");
        List<JsonNode> chunks = events.subList(0, events.size() - 1).stream().map(JSON::readTree).toList();
        assertThat(chunks).extracting(chunk -> chunk.path("id").asString()).containsOnly(chunks.getFirst()
                .path("id").asString());
        assertThat(chunks).extracting(chunk -> chunk.path("object").asString()).containsOnly("chat.completion.chunk");
        assertThat(chunks.getFirst().path("choices").toString()).isEqualTo("""
                [{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]""");
        assertThat(content(chunks)).isEqualTo("Hello");
        assertThat(chunks.get(chunks.size() - 2).path("choices").toString()).isEqualTo("""
                [{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]""");
        assertThat(chunks.getLast().path("choices")).isEmpty();
        assertThat(chunks.getLast().path("usage").path("completion_tokens").asInt()).isEqualTo(ids("Hello").length);
        assertThat(chunks.subList(0, chunks.size() - 1)).allSatisfy(chunk -> {
            assertThat(chunk.has("usage")).isTrue();
            assertThat(chunk.path("usage").isNull()).isTrue();
        });
    }

    @Test
    void a_stream_tells_usage_all_along_if_it_is_asked_to() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 2, ids("Hello you")));

        HttpResponse<String> response = post("/v1/chat/completions", CHAT.formatted(
                ",'stream':true,'stream_options':{'include_usage':true,'continuous_usage_stats':true}"));

        List<String> events = events(response.body());
        List<JsonNode> usages = events.subList(0, events.size() - 1).stream()
                .map(event -> JSON.readTree(event).path("usage")).toList();
        int generated = ids("Hello you").length;
        int prompt = promptOf(worker).length;
        assertThat(usages).allSatisfy(usage ->
                assertThat(usage.path("prompt_tokens").asInt()).isEqualTo(prompt));
        assertThat(usages).extracting(usage -> usage.path("completion_tokens").asInt()).isSorted()
                .contains(1, generated);
        assertThat(usages.getLast().path("prompt_tokens_details").path("cached_tokens").asInt()).isEqualTo(2);
    }

    @Test
    void an_answer_ends_with_its_stop_string_if_the_client_wants_to_see_it() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("One STOP two")));

        JsonNode choice = json(post("/v1/completions",
                TEXT.formatted(",'stop':['STOP'],'include_stop_str_in_output':true"))).path("choices").path(0);

        assertThat(choice.path("text").asString()).isEqualTo("One STOP");
        assertThat(choice.path("finish_reason").asString()).isEqualTo("stop");
    }

    /** The secret itself goes no further than this router. */
    @Test
    void a_worker_gets_the_digest_of_a_cache_salt() {
        FakeWorker worker = join("w0");

        post("/v1/completions", TEXT.formatted(",'cache_salt':'abc'"));
        post("/v1/completions", TEXT.formatted(""));

        assertThat(worker.requests().remove().salt())
                .isEqualTo("s:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assertThat(worker.requests().remove().salt()).isNull();
    }

    @Test
    void a_stream_without_include_usage_has_no_usage_at_all() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("Hello")));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'stream':true"));

        assertThat(response.body()).doesNotContain("usage");
        assertThat(events(response.body()).getFirst()).contains("\"object\":\"text_completion\"");
        assertThat(events(response.body()).getLast()).isEqualTo("[DONE]");
    }

    @Test
    void a_completion_of_token_ids_reaches_the_worker_as_it_is() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));

        HttpResponse<String> response = send(HttpRequest.newBuilder(uri("/v1/completions"))
                .header("content-type", "application/json; charset=utf-8").header("x-request-id", "my-id.7")
                .POST(HttpRequest.BodyPublishers.ofString("""
                        {"model":"tiny","prompt":[10,11,12],"max_tokens":5,"temperature":0.5,"top_p":0.25,"top_k":-1,
                         "seed":-9,"stop_token_ids":[20],"ignore_eos":true}"""))
                .build());

        assertThat(json(response).path("choices").toString()).isEqualTo("""
                [{"text":"ok","index":0,"logprobs":null,"finish_reason":"length"}]""");
        assertThat(response.headers().firstValue("x-request-id")).hasValue("my-id.7");
        GenerateRequest sent = worker.requests().take();
        assertThat(sent.requestId()).isEqualTo("my-id.7");
        assertThat(sent.workerEpoch()).isEqualTo(7L);
        assertThat(sent.promptTokens()).containsExactly(10, 11, 12);
        assertThat(sent.sampling()).isEqualTo(new SamplingParameters(0.5f, 0, 0.25f, -9L));
        assertThat(sent.stop().maxTokens()).isEqualTo(5);
        assertThat(sent.stop().stopTokenIds()).containsExactly(20);
        assertThat(sent.stop().ignoreEos()).isTrue();
    }

    @Test
    void rules_for_logits_reach_the_worker_with_bad_words_as_tokens() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));

        HttpResponse<String> response = post("/v1/completions", TEXT.formatted("""
                ,'temperature':0,'seed':1,'min_p':0.25,'presence_penalty':-2,'frequency_penalty':0.5,
                'repetition_penalty':1.25,'min_tokens':3,'logit_bias':{'5':-100,'6':1.5},'bad_words':['  Hello'],
                'allowed_token_ids':[5,6,7]"""));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        GenerateRequest sent = worker.requests().take();
        LogitRules rules = sent.sampling().rules();
        assertThat(rules).isEqualTo(LogitRules.NONE.withMinP(0.25f).withPenalties(-2f, 0.5f, 1.25f)
                .withBiases(new int[] {5, 6}, -100f, 1.5f).withAllowedTokens(5, 6, 7).withBadWords(rules.badWords()));
        assertThat(rules.badWords()[0]).isEqualTo(ids("Hello"));
        boolean spaceChangesTheFirstToken = ids(" Hello").length == ids("Hello").length
                && ids(" Hello")[0] != ids("Hello")[0];
        assertThat(rules.badWords()).hasNumberOfRows(spaceChangesTheFirstToken ? 2 : 1);
        assertThat(sent.stop().minTokens()).isEqualTo(3);
    }

    @Test
    void what_shapes_logits_never_goes_to_a_worker_that_would_pass_over_it() throws Exception {
        joinOutdated("old");
        HttpResponse<String> response = post("/v1/completions", TEXT.formatted(",'presence_penalty':0.5"));
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(json(response).path("error").path("code").asString()).isEqualTo("no_worker_available");
        assertThat(json(response).path("error").path("message").asString())
                .isEqualTo("no worker is available for this model at present that follows what the request asks of the "
                        + "logits, as by penalties or biases: those that are there are of an earlier version");
        assertThat(post("/v1/completions", TEXT.formatted("")).headers().firstValue("x-warmpath-worker"))
                .hasValue("old");

        join("new");
        for (String field : new String[] {"'min_tokens':2", "'logit_bias':{'5':1}", "'min_p':0.1"}) {
            for (int i = 0; i < 4; i++) {
                assertThat(post("/v1/completions", TEXT.formatted("," + field)).headers()
                        .firstValue("x-warmpath-worker")).hasValue("new");
            }
        }
        JsonNode route = json(post("/v1/route", TEXT.formatted(",'min_p':0.1")));
        assertThat(route.path("left_out").toString()).contains("\"old\"", "\"outdated\"");
    }

    @Test
    void absent_limits_are_16_tokens_for_a_text_and_the_rest_of_the_context_for_a_chat() throws Exception {
        FakeWorker worker = join("w0");

        post("/v1/completions", "{'model':'tiny','prompt':[10,11,12]}");
        post("/v1/chat/completions", CHAT.formatted(""));

        assertThat(worker.requests().take().stop().maxTokens()).isEqualTo(16);
        GenerateRequest chat = worker.requests().take();
        assertThat(chat.stop().maxTokens()).isEqualTo(CONTEXT_LENGTH - chat.promptTokens().length);
        assertThat(chat.sampling().temperature()).isEqualTo(1f);
    }

    @Test
    void the_models_own_sampling_holds_where_the_client_is_silent() throws Exception {
        FakeWorker worker = join("w0");
        loadGenerationConfig("{\"temperature\":0.6,\"top_k\":20,\"top_p\":0.95}");

        post("/v1/completions", TEXT.formatted(",'seed':7"));
        post("/v1/completions", TEXT.formatted(",'seed':7,'temperature':1.5,'top_k':-1"));

        assertThat(worker.requests().take().sampling()).isEqualTo(new SamplingParameters(0.6f, 20, 0.95f, 7L));
        assertThat(worker.requests().take().sampling()).isEqualTo(new SamplingParameters(1.5f, 0, 0.95f, 7L));
    }

    @Test
    void requests_without_a_seed_get_different_ones() throws Exception {
        FakeWorker worker = join("w0");

        post("/v1/completions", TEXT.formatted(""));
        post("/v1/completions", TEXT.formatted(""));

        assertThat(worker.requests().take().sampling().seed()).isNotEqualTo(worker.requests().take().sampling().seed());
    }

    @Test
    void every_request_tells_the_worker_which_router_sent_it() throws Exception {
        FakeWorker worker = join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));
        post("/v1/completions", "{'model':'tiny','prompt':[10]}");
        post("/v1/completions", "{'model':'tiny','prompt':[11]}");

        RouterId first = worker.requests().take().router();
        assertThat(first).isNotNull();
        assertThat(worker.requests().take().router()).isEqualTo(first);
    }

    @Test
    void a_temperature_that_leaves_only_the_likeliest_token_is_sent_as_greedy() throws Exception {
        FakeWorker worker = join("w0");

        post("/v1/completions", TEXT.formatted(",'temperature':0.00001"));

        assertThat(worker.requests().take().sampling().temperature()).isZero();
    }

    @Test
    void neutral_values_and_hints_of_unserved_fields_pass() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));

        HttpResponse<String> response = post("/v1/chat/completions", CHAT.formatted("""
                ,'n':1,'presence_penalty':0,'frequency_penalty':0.0,'logit_bias':{},'tools':[],'tool_choice':'none',
                'response_format':{'type':'text'},'logprobs':false,'top_logprobs':null,'user':'u','metadata':{'a':'b'},
                'store':false,'service_tier':'auto','stream':false,'stream_options':null,'parallel_tool_calls':true,
                'stop':null,'min_p':0.0,'repetition_penalty':1.0,'prompt_cache_key':'k','stop_token_ids':null"""));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    }

    @Test
    void text_parts_are_joined_by_line_breaks() throws Exception {
        FakeWorker worker = join("w0");

        post("/v1/chat/completions", """
                {'model':'tiny','messages':[{'role':'user','name':'bo','content':[{'type':'text','text':'a'},
                {'type':'text','text':'b'}]}]}""");

        assertThat(TOKENIZER.decode(promptOf(worker), false)).isEqualTo("<|begin|><|user|>a\nb<|end|><|assistant|>");
    }

    @Test
    void a_stop_string_ends_the_answer_before_it_and_the_worker_behind_it() {
        join("w0").doing(FakeWorker.drawingUntilAskedToEnd(3, ids("one two STOP three four")));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'stop':['STOP'],'max_tokens':40")));

        assertThat(answer.path("choices").path(0).path("text").asString()).isEqualTo("one two ");
        assertThat(answer.path("choices").path(0).path("finish_reason").asString()).isEqualTo("stop");
        assertThat(answer.path("usage").path("completion_tokens").asInt()).isEqualTo(ids("one two STOP").length);
        assertThat(answer.path("usage").path("prompt_tokens_details").path("cached_tokens").asInt())
                .as("the worker's own count").isEqualTo(3);
    }

    /**
     * How many there are depends on who is faster: an answer is there before its end, and the next request may find its
     * connection taken. None is closed, and sooner or later a request finds all that it needs.
     */
    @Test
    void answers_that_end_at_a_stop_string_keep_their_connections() {
        FakeWorker worker = join("w0").doing(FakeWorker.drawingUntilAskedToEnd(0, ids("one STOP two")));

        for (boolean streamed : new boolean[] {false, true}) {
            String body = TEXT.formatted(",'stop':['STOP'],'stream':" + streamed);
            eventually(() -> {
                int before = worker.acceptedConnections();
                for (int i = 0; i < 3; i++) {
                    assertThat(post("/v1/completions", body).statusCode()).isEqualTo(200);
                }
                return worker.acceptedConnections() == before;
            });
        }
    }

    /** It may draw on behind the stop string until it is asked to end, and fail meanwhile: its answer is whole. */
    @Test
    void a_worker_that_fails_behind_a_stop_string_changes_no_answer_and_no_other_worker_is_asked() {
        FakeWorker worker = join("w0").doing(
                FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "no more", ids("one STOP")));

        JsonNode whole = json(post("/v1/completions", TEXT.formatted(",'stop':['STOP']")));
        List<String> streamed = events(post("/v1/completions", TEXT.formatted(",'stop':['STOP'],'stream':true")).body());

        assertThat(whole.path("choices").toString()).isEqualTo("""
                [{"text":"one ","index":0,"logprobs":null,"finish_reason":"stop"}]""");
        assertThat(streamed).noneMatch(event -> event.contains("error")).endsWith("[DONE]").doesNotHaveDuplicates();
        assertThat(streamed.get(streamed.size() - 2)).contains("\"finish_reason\":\"stop\"");
        assertThat(worker.requests()).as("one for each answer").hasSize(2);
    }

    @Test
    void a_character_is_never_split_between_chunks() {
        int[] emoji = ids("𝄞🂡ѬꙮԘ");
        assertThat(emoji.length).isGreaterThan(5);
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, emoji));

        List<String> events = events(post("/v1/completions", TEXT.formatted(",'stream':true")).body());

        List<String> texts = events.subList(0, events.size() - 1).stream()
                .map(event -> JSON.readTree(event).path("choices").path(0).path("text").asString()).toList();
        assertThat(String.join("", texts)).isEqualTo("𝄞🂡ѬꙮԘ");
        assertThat(texts).allSatisfy(text -> assertThat(text).doesNotContain("\uFFFD"));
    }

    @Test
    void what_waits_for_a_stop_string_comes_out_when_the_worker_ends() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("one ST")));

        JsonNode answer = json(post("/v1/completions", TEXT.formatted(",'stop':'STOP'")));

        assertThat(answer.path("choices").toString()).isEqualTo("""
                [{"text":"one ST","index":0,"logprobs":null,"finish_reason":"length"}]""");
    }

    @Test
    void a_stream_that_falls_silent_gets_heartbeats_and_then_its_answer() throws IOException {
        var goOn = new CompletableFuture<Void>();
        join("w0").doing(FakeWorker.pausing(Mono.fromFuture(goOn), ids("one two")));

        try (Socket client = rawClient(TEXT.formatted(",'stream':true"))) {
            var answer = new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
            List<String> silent = linesUpTo(": still at it", answer);
            goOn.complete(null);
            List<String> rest = linesUpTo("data: [DONE]", answer);

            assertThat(silent.stream().filter(line -> line.startsWith("data: "))).hasSize(1);
            assertThat(rest.stream().filter(line -> line.startsWith("data: "))).hasSizeGreaterThan(1);
        }
    }

    private static List<String> linesUpTo(String end, BufferedReader answer) throws IOException {
        List<String> lines = new ArrayList<>();
        while (lines.isEmpty() || !lines.getLast().equals(end)) {
            lines.add(Objects.requireNonNull(answer.readLine(), () -> "ends after " + lines));
        }
        return lines;
    }

    @Test
    void a_stream_says_nothing_before_its_first_event() {
        join("w0").doing(FakeWorker.after(Duration.ofMillis(1_000),
                FakeWorker.finishing(FinishReason.LENGTH, 0, ids("late"))));

        String body = post("/v1/completions", TEXT.formatted(",'stream':true")).body();

        assertThat(body).startsWith("data: ").endsWith("data: [DONE]\n\n");
    }

    @Test
    void the_worker_that_holds_the_prefix_is_chosen_and_route_says_so_beforehand() {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
        join("w0");
        FakeWorker warm = join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 8, ids("ok")));
        announce(warm, prompt, 3);
        String body = "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}";

        JsonNode explained = json(post("/v1/route", body));
        HttpResponse<String> response = post("/v1/completions", body);

        // three blocks are held, but the last token is always computed, and with it its block
        assertThat(explained.path("worker").asString()).isEqualTo("w1");
        assertThat(explained.path("prompt_tokens").asInt()).isEqualTo(12);
        assertThat(explained.path("prompt_blocks").asInt()).isEqualTo(3);
        assertThat(explained.path("matched_blocks").asInt()).isEqualTo(2);
        assertThat(explained.path("predicted_cached_tokens").asInt()).isEqualTo(8);
        assertThat(explained.path("policy").asString()).isEqualTo("expected-first-token");
        assertThat(explained.path("reason").asString()).isEqualTo("prefix");
        assertThat(explained.path("shadow").isNull()).isTrue();
        assertThat(explained.path("prompt_hash").asString()).isEqualTo(lastBlockHash(prompt));
        assertThat(explained.path("index_grade").asString()).isEqualTo("exact");
        assertThat(explained.path("candidates").size()).isEqualTo(2);
        assertThat(explained.path("candidates").path(1).path("grade").asString()).isEqualTo("exact");
        assertThat(explained.path("candidates").path(0).path("terms").path("uncached").asInt()).isEqualTo(12);
        assertThat(explained.path("candidates").path(1).path("terms").path("uncached").asInt()).isEqualTo(4);
        for (JsonNode candidate : explained.path("candidates")) {
            assertThat(Stream.of("uncached", "copy", "delay", "eviction", "pending", "queued", "streams", "slots",
                            "memory", "failures")
                    .mapToLong(term -> candidate.path("terms").required(term).asLong()).sum())
                    .isEqualTo(candidate.path("cost").asLong());
        }
        assertThat(warm.requests()).hasSize(1);
        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w1");
        assertThat(response.headers().firstValue("x-warmpath-cached-tokens")).hasValue("8");
        assertThat(response.headers().firstValue("x-warmpath-decision")).hasValue("prefix");
        assertThat(json(response).path("usage").path("prompt_tokens_details").path("cached_tokens").asInt())
                .isEqualTo(8);
    }

    /** The worker's events have not come for some time; the clock is the router's own. */
    @Test
    void route_says_when_it_cannot_rely_on_the_index() {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
        FakeWorker stale = join("w0");
        announce(stale, prompt, 3);
        registered(stale).heard(new Heartbeat("w0", 7, 0, 0, 100, 0, 7, 0, 0),
                System.nanoTime() - Duration.ofSeconds(31).toNanos());

        JsonNode explained = json(post("/v1/route", "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}"));

        assertThat(explained.path("index_grade").asString()).isEqualTo("load");
        JsonNode candidate = explained.path("candidates").path(0);
        assertThat(candidate.path("grade").asString()).isEqualTo("load");
        assertThat(candidate.path("behind_batches").asInt()).isEqualTo(7);
        assertThat(candidate.path("behind_ms").asInt()).isGreaterThanOrEqualTo(31_000);
        assertThat(explained.path("matched_blocks").asInt()).isZero();
        assertThat(json(post("/v1/route", "{'model':'tiny','prompt':[10]}")).path("prompt_hash").isNull()).isTrue();
    }

    @Test
    void route_says_who_could_not_be_chosen_and_why() {
        join("w0");
        join("drained");
        fleet.drainWorker("drained", true);

        JsonNode explained = json(post("/v1/route", "{'model':'tiny','prompt':[10,11,12]}"));

        assertThat(explained.path("worker").asString()).isEqualTo("w0");
        assertThat(explained.path("left_out").toString())
                .isEqualTo("[{\"worker\":\"drained\",\"reason\":\"draining\"}]");
    }

    @Test
    void models_are_listed_and_found_by_name() {
        join("w0");

        assertThat(json(get("/v1/models")).toString()).isEqualTo("""
                {"object":"list","data":[{"id":"tiny","object":"model","created":1700000000,"owned_by":"warmpath",\
                "root":"tiny","parent":null,"max_model_len":64,"revision":"%s"}]}""".formatted(REVISION));
        assertThat(json(get("/v1/models/tiny")).path("id").asString()).isEqualTo("tiny");
        assertThat(get("/v1/models/some/other").statusCode()).isEqualTo(404);
        assertThat(json(get("/v1/models/some/other")).path("error").path("message").asString())
                .isEqualTo("the model 'some/other' is not served here; served are 'tiny'");
    }

    @Test
    void text_goes_to_tokens_and_back() {
        join("w0");

        JsonNode text = json(post("/tokenize", "{'model':'tiny','prompt':'Hello world'}"));
        JsonNode bare = json(post("/tokenize", "{'model':'tiny','prompt':'Hello world','add_special_tokens':false}"));
        JsonNode chat = json(post("/tokenize", CHAT.formatted("")));

        int[] hello = ids("Hello world");
        assertThat(text.path("count").asInt()).isEqualTo(hello.length + 1);
        assertThat(text.path("max_model_len").asInt()).isEqualTo(64);
        assertThat(bare.path("tokens").toString()).isEqualTo(JSON.writeValueAsString(hello));
        String prompt = json(post("/detokenize", "{'model':'tiny','tokens':%s}".formatted(chat.path("tokens"))))
                .path("prompt").asString();
        assertThat(prompt).isEqualTo("<|begin|><|user|>Hi<|end|><|assistant|>");
    }

    @Test
    void the_meters_tell_what_happened() {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
        announce(join("metered").doing(FakeWorker.finishing(FinishReason.LENGTH, 4, ids("ok"))), prompt, 3);
        Map<String, Double> before = meters();

        post("/v1/completions", "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}");

        assertThat(added(before)).containsAllEntriesOf(Map.ofEntries(
                Map.entry("warmpath_requests_total{api=\"completions\",model=\"tiny\",outcome=\"answered\"}", 1.0),
                Map.entry("warmpath_route_decisions_total{reason=\"only_one\"}", 1.0),
                Map.entry("warmpath_stage_seconds_count{stage=\"tokenize\"}", 1.0),
                Map.entry("warmpath_stage_seconds_count{stage=\"route\"}", 1.0),
                Map.entry("warmpath_time_to_first_token_seconds_count{model=\"tiny\"}", 1.0),
                Map.entry("warmpath_request_duration_seconds_count{model=\"tiny\"}", 1.0),
                Map.entry("warmpath_queue_wait_seconds_count{model=\"tiny\"}", 1.0),
                Map.entry("warmpath_worker_attempts_total{outcome=\"answered\",worker=\"metered\"}", 1.0),
                Map.entry("warmpath_prompt_tokens_total{model=\"tiny\"}", 12.0),
                Map.entry("warmpath_completion_tokens_total{model=\"tiny\"}", (double) ids("ok").length),
                Map.entry("warmpath_fleet_cached_tokens_total{model=\"tiny\"}", 8.0),
                Map.entry("warmpath_predicted_cached_tokens_total{model=\"tiny\"}", 8.0),
                Map.entry("warmpath_cached_tokens_total{model=\"tiny\"}", 4.0),
                Map.entry("warmpath_cached_token_error_tokens_count{model=\"tiny\"}", 1.0),
                Map.entry("warmpath_cached_token_error_tokens_sum{model=\"tiny\"}", 4.0)));
        eventually(() -> meters().get("warmpath_in_flight_requests") == 0);
    }

    /** Neither Redis nor a shadow nor a file of keys is there. */
    @Test
    void every_meter_is_on_the_page_when_one_stream_and_one_error_were_answered() {
        join("seen").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("Hello")));
        Map<String, Double> before = meters();
        post("/v1/completions", TEXT.formatted(",'stream':true"));
        post("/v1/completions", "{'model':'nobody','prompt':'Hi'}");

        Set<RouterMeter> absent = EnumSet.of(RouterMeter.REDIS_CONNECTED, RouterMeter.SHADOW_DECISIONS,
                RouterMeter.SHADOW_UNCACHED_TOKENS, RouterMeter.API_KEYS, RouterMeter.API_KEYS_OUTDATED,
                RouterMeter.KEY_REFUSALS, RouterMeter.KEY_REQUESTS, RouterMeter.KEY_TOKENS);
        Set<String> missing = Arrays.stream(RouterMeter.values()).filter(meter -> !absent.contains(meter))
                .map(meter -> meter.meterName().replace('.', '_')).collect(Collectors.toCollection(TreeSet::new));
        eventually(() -> {
            Set<String> names = meters().keySet();                 // a worker's state is told each second
            missing.removeIf(meter -> names.stream().anyMatch(name -> name.startsWith(meter)));
            return missing.isEmpty();
        });
        assertThat(added(before)).containsEntry("warmpath_error_answers_total{code=\"model_not_found\"}", 1.0)
                .containsEntry("warmpath_requests_total{api=\"completions\",model=\"other\",outcome=\"refused\"}",
                        1.0)
                .containsEntry("warmpath_worker_attempts_total{outcome=\"answered\",worker=\"seen\"}", 1.0);
        eventually(() -> meters().getOrDefault("warmpath_worker_state{state=\"ready\",worker=\"seen\"}", 0.0) == 1);
        assertThat(meters().get("warmpath_direct_memory_used_bytes")).isPositive();
    }

    /** The worker was not told that it may stop, or does not know how to. */
    @Test
    void a_worker_that_does_not_end_at_a_stop_string_changes_no_answer_and_is_no_witness_for_the_prediction() {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter(ids("one STOP")));
        announce(worker, prompt, 3);
        Map<String, Double> before = meters();

        JsonNode answer = json(post("/v1/completions",
                "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21],'stop':'STOP'}"));

        assertThat(answer.path("choices").path(0).path("text").asString()).isEqualTo("one ");
        assertThat(answer.path("usage").path("prompt_tokens_details").path("cached_tokens").asInt()).isEqualTo(8);
        assertThat(added(before)).containsEntry("warmpath_prompt_tokens_total{model=\"tiny\"}", 12.0)
                .doesNotContainKeys("warmpath_cached_tokens_total{model=\"tiny\"}",
                        "warmpath_fleet_cached_tokens_total{model=\"tiny\"}",
                        "warmpath_predicted_cached_tokens_total{model=\"tiny\"}",
                        "warmpath_cached_token_error_tokens_count{model=\"tiny\"}");
    }

    /** Values by name and tags. */
    private Map<String, Double> meters() {
        return management("/actuator/prometheus").body().lines().filter(line -> line.startsWith("warmpath_"))
                .collect(Collectors.toMap(line -> line.substring(0, line.lastIndexOf(' ')),
                        line -> Double.valueOf(line.substring(line.lastIndexOf(' ') + 1))));
    }

    /** What has changed since. */
    private Map<String, Double> added(Map<String, Double> before) {
        Map<String, Double> added = new HashMap<>();
        meters().forEach((name, value) -> added.put(name, value - before.getOrDefault(name, 0.0)));
        added.values().removeIf(value -> value == 0);
        return added;
    }

    @Test
    void the_router_is_ready_as_long_as_it_serves_a_model() {
        assertThat(management("/actuator/health/readiness").statusCode()).isEqualTo(503);
        assertThat(management("/actuator/health/liveness").statusCode()).isEqualTo(200);
        assertThat(List.of(get("/health"), get("/ping"), post("/ping", "{}"))).allSatisfy(answer -> {
            assertThat(answer.statusCode()).isEqualTo(503);
            assertThat(answer.body()).isEmpty();
        });

        join("w0");

        assertThat(management("/actuator/health/readiness").statusCode()).isEqualTo(200);
        assertThat(List.of(get("/health"), get("/ping"), post("/ping", "{}"))).allSatisfy(answer -> {
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(answer.body()).isEmpty();
        });
    }

    @Test
    void probes_count_as_no_errors() {
        Map<String, Double> before = meters();

        assertThat(get("/health").statusCode()).isEqualTo(503);

        assertThat(added(before).keySet()).noneMatch(meter -> meter.startsWith("warmpath_error_answers")
                || meter.startsWith("warmpath_requests") || meter.startsWith("warmpath_admission"));
    }

    @Test
    void the_version_is_told_as_vllm_tells_it() {
        HttpResponse<String> answer = get("/version");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).matches("\\{\"version\":\"[0-9][^\"]*\"}");
    }

    private static int[] promptOf(FakeWorker worker) throws InterruptedException {
        return worker.requests().take().promptTokens();
    }

    private static String content(List<JsonNode> chunks) {
        var text = new StringBuilder();
        chunks.forEach(chunk -> text.append(chunk.path("choices").path(0).path("delta").path("content").asString("")));
        return text.toString();
    }

    private static int[] concat(int[] ids, int last) {
        int[] all = Arrays.copyOf(ids, ids.length + 1);
        all[ids.length] = last;
        return all;
    }
}
