package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Sinks;
import tools.jackson.databind.JsonNode;

/** What a client sees of workers that fail: nothing before the first token, the truth after it. */
class WorkerFailuresTest extends RunningRouter {

    /** Longer prompts of one worker's prefix make it the first choice. */
    private static final String PROMPT = "[10,11,12,13,14,15,16,17,18,19,20,21]";
    private static final int[] PROMPT_IDS = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    private static final String WHOLE = "{'model':'tiny','prompt':" + PROMPT + "}";
    private static final String STREAM = "{'model':'tiny','stream':true,'prompt':" + PROMPT + "}";

    static Stream<Arguments> failures_without_a_token() {
        return Stream.of(
                Arguments.of("dies", FakeWorker.dyingAfter()),
                Arguments.of("ends early", FakeWorker.endingEarlyAfter()),
                Arguments.of("is full", FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full")),
                Arguments.of("was restarted", FakeWorker.refusing(409, FailureReason.WRONG_EPOCH, "epoch 8, not 7")),
                Arguments.of("is leaving", FakeWorker.refusing(503, FailureReason.SHUTTING_DOWN, "leaving")),
                Arguments.of("breaks", FakeWorker.answering(500, "<html>oops</html>")),
                Arguments.of("is somebody else", FakeWorker.answering(404, "")),
                Arguments.of("fails", FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost")),
                Arguments.of("talks rubbish", FakeWorker.answering(200, "{\"type\":\"song\"}\n")));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("failures_without_a_token")
    void a_worker_that_fails_before_its_first_token_is_not_noticed(String what, Script failure) {
        FakeWorker failing = join("w0").doing(failure);
        announce(failing, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));

        HttpResponse<String> whole = post("/v1/completions", WHOLE);
        HttpResponse<String> stream = post("/v1/completions", STREAM);

        assertThat(whole.statusCode()).as(whole.body()).isEqualTo(200);
        assertThat(text(json(whole))).isEqualTo("fine");
        assertThat(whole.headers().firstValue("x-warmpath-worker")).hasValue("w1");
        assertThat(events(stream.body()).getLast()).isEqualTo("[DONE]");
        assertThat(failing.requests()).isNotEmpty();
    }

    @Test
    void a_worker_that_dies_after_a_long_silence_is_not_noticed_either() {
        FakeWorker failing = join("w0").doing(FakeWorker.after(Duration.ofMillis(900), FakeWorker.dyingAfter()));
        announce(failing, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));

        HttpResponse<String> stream = post("/v1/completions", STREAM);

        assertThat(stream.headers().firstValue("x-warmpath-worker")).hasValue("w1");
        assertThat(stream.headers().firstValue("x-warmpath-cached-tokens")).hasValue("0");
        assertThat(events(stream.body()).getLast()).isEqualTo("[DONE]");
        assertThat(failing.requests()).hasSize(1);
    }

    @Test
    void a_worker_that_is_gone_is_passed_over_and_removed() {
        FakeWorker gone = join("w0");
        announce(gone, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        var registered = registered(gone);
        gone.close();

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(text(json(response))).isEqualTo("fine");
        eventually(registered::isGone);
    }

    @Test
    void a_request_is_sent_to_four_workers_and_no_more() {
        List<FakeWorker> workers = Stream.of("w0", "w1", "w2", "w3", "w4")
                .map(id -> join(id).doing(FakeWorker.answering(500, ""))).toList();

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(json(response).path("error").path("code").asString()).isEqualTo("engine_failure");
        assertThat(workers.stream().mapToInt(worker -> worker.requests().size()).sum()).isEqualTo(4);
    }

    @Test
    void a_request_without_usable_logits_is_sent_to_nobody_else_and_costs_no_health_while_others_are_answered() {
        List<FakeWorker> workers = Stream.of("w0", "w1", "w2").map(id -> join(id).doing((request, response) ->
                (request.promptTokens()[0] == 66 ? FakeWorker.failingAfter(FailureReason.UNUSABLE_LOGITS, "NaN")
                        : FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine"))).answer(request, response))).toList();

        for (int i = 0; i < 60; i++) {
            boolean bad = i % 3 > 0;
            HttpResponse<String> answer =
                    post("/v1/completions", "{'model':'tiny','prompt':[" + (bad ? 66 : 10) + "," + i + "]}");
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(bad ? 422 : 200);
        }

        assertThat(workers.stream().mapToInt(worker -> worker.requests().size()).sum()).isEqualTo(60);
        assertThat(workers).allMatch(worker -> registered(worker).health().problem() == null);
    }

    static Stream<Arguments> failures_that_nobody_can_make_good() {
        return Stream.of(
                Arguments.of(FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full"), 503, "server_is_overloaded"),
                Arguments.of(FakeWorker.refusing(503, FailureReason.SHUTTING_DOWN, "bye"), 503, "no_worker_available"),
                Arguments.of(FakeWorker.dyingAfter(), 503, "no_worker_available"),
                Arguments.of(FakeWorker.answering(503, "{\"reason\":null}"), 502, "engine_failure"),
                Arguments.of(
                        FakeWorker.failingAfter(FailureReason.DEADLINE_EXCEEDED, "late"), 504, "deadline_exceeded"),
                Arguments.of(
                        FakeWorker.failingAfter(FailureReason.UNUSABLE_LOGITS, "NaN"), 422, "unusable_logits"),
                Arguments.of(FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "x"), 502, "engine_failure"));
    }

    @ParameterizedTest
    @MethodSource("failures_that_nobody_can_make_good")
    void the_only_worker_s_failure_is_the_answer(Script failure, int status, String code) {
        join("w0").doing(failure);

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(json(response).path("error").path("code").asString()).isEqualTo(code);
        assertThat(response.headers().firstValue("retry-after").isPresent()).isEqualTo(status == 503);
    }

    @Test
    void a_refusal_that_is_the_requests_own_fault_is_not_tried_elsewhere() {
        FakeWorker first = join("w0").doing(FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, "no"));
        FakeWorker second = join("w1").doing(FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, "no"));

        assertThat(post("/v1/completions", WHOLE).statusCode()).isEqualTo(400);
        assertThat(first.requests().size() + second.requests().size()).isEqualTo(1);
    }

    @Test
    void a_worker_lost_after_its_first_token_is_not_noticed_in_a_whole_answer() {
        FakeWorker dying = join("w0").doing(FakeWorker.dyingAfter(ids("half of")));
        announce(dying, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(text(json(response))).isEqualTo("fine");
        assertThat(json(response).path("usage").path("completion_tokens").asInt()).isEqualTo(ids("fine").length);
        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w1");
    }

    /** They are asked in this order, by what they hold of the prompt: the first is lost in mid-answer, two refuse. */
    @Test
    void who_fails_a_whole_answer_that_another_one_had_begun_is_to_blame_as_well() {
        int[] prompt = IntStream.range(10, 50).toArray();
        FakeWorker dying = join("w0").doing(FakeWorker.dyingAfter(ids("half of")));
        announce(dying, prompt, 9);
        List<FakeWorker> refusing = List.of(join("w1"), join("w2"));
        refusing.forEach(each -> each.doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "broken")));
        announce(refusing.get(0), prompt, 6);
        announce(refusing.get(1), prompt, 3);
        join("w3").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));

        HttpResponse<String> response = post("/v1/completions",
                "{'model':'tiny','prompt':" + IntStream.of(prompt).boxed().toList() + "}");

        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w3");
        assertThat(refusing).allSatisfy(each -> assertThat(each.requests()).hasSize(1));
        eventually(() -> refusing.stream().allMatch(each -> registered(each).health().failureShare(System.nanoTime()) > 0
                && registered(each).health().problem() == null));
        eventually(() -> inFlight() == 0);
    }

    /** The first bytes of a character are no text yet, and what may begin a stop string is not shown. */
    @Test
    void a_worker_lost_before_the_first_text_is_not_noticed_in_a_stream() {
        int[] emoji = ids("𝄞");
        FakeWorker dying = join("w0").doing(FakeWorker.dyingAfter(emoji[0]));
        announce(dying, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));

        HttpResponse<String> response = post("/v1/completions", STREAM);

        assertThat(emoji.length).isGreaterThan(1);
        assertThat(events(response.body()).stream().filter(event -> !event.equals("[DONE]"))
                .map(event -> text(JSON.readTree(event))).reduce("", String::concat)).isEqualTo("fine");
        assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w1");
    }

    static Stream<Arguments> failures_after_a_token() {
        int[] drawn = ids("half of");
        return Stream.of(
                Arguments.of(FakeWorker.dyingAfter(drawn), "worker_lost"),
                Arguments.of(FakeWorker.endingEarlyAfter(drawn), "worker_lost"),
                Arguments.of(
                        FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost", drawn), "engine_failure"));
    }

    /** Without the loss it would be waited for an hour, longer than this test reads. */
    @Test
    void a_worker_that_falls_silent_and_loses_its_lease_ends_the_stream_with_an_error_event() throws IOException {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter(ids("a")));
        var raw = new ByteArrayOutputStream();

        try (Socket client = rawClient(STREAM)) {
            client.setSoTimeout((int) Duration.ofMinutes(10).toMillis());
            while (!raw.toString(StandardCharsets.UTF_8).contains("\"text\":\"a\"")) {
                raw.write(client.getInputStream().readNBytes(1));
            }
            loseLease(worker);
            client.getInputStream().transferTo(raw);
        }

        assertBroken(raw.toString(StandardCharsets.UTF_8), "worker_lost");
    }

    /** Four streams are quiet for longer than a worker that is gone is waited for, and go on when it has left. */
    @Test
    void what_a_worker_sent_before_it_left_is_waited_for_however_slow_it_was_before() throws Exception {
        List<CompletableFuture<String>> answers;
        long leftNanos;
        int attempt = 0;
        do {                                                       // again if it was this test that was slow
            var goOn = Sinks.<Void>one();
            FakeWorker worker = join("w" + attempt++).doing(FakeWorker.pausingUntil(goOn.asMono(), ids("fine")));
            answers = IntStream.range(0, 4)
                    .mapToObj(_ -> CompletableFuture.supplyAsync(() -> post("/v1/completions", STREAM).body(),
                            Thread::startVirtualThread)).toList();
            eventually(() -> worker.requests().size() == 4);
            Thread.sleep(2_500);                                   // ten ticks, each stream's at another time
            leftNanos = System.nanoTime();
            loseLease(worker);
            Thread.sleep(200);                                     // most streams look at their worker meanwhile
            goOn.tryEmitEmpty();
            leftNanos = System.nanoTime() - leftNanos;
            CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new)).join();
        } while (leftNanos > Duration.ofSeconds(1).toNanos());

        assertThat(answers).allSatisfy(answer -> assertThat(answer.get()).endsWith("data: [DONE]\n\n"));
    }

    @ParameterizedTest
    @MethodSource("failures_after_a_token")
    void a_stream_that_fails_ends_with_an_error_event_and_a_broken_connection(Script failure, String code)
            throws IOException {
        join("w0").doing(failure);

        String raw = rawCompletion(STREAM);

        assertBroken(raw, code);
        assertThat(events(raw).stream().map(event -> text(JSON.readTree(event))).reduce("", String::concat))
                .isEqualTo("half of");
    }

    @Test
    void lines_are_put_together_however_they_are_cut() {
        join("w0").doing(FakeWorker.bytewise("""
                {"type":"tokens","index":0,"ids":[%d]}

                {"type":"tokens","index":0,"ids":[%d],"later":"field"}
                {"type":"finished","reason":"length","usage":{"promptTokens":12,"cachedTokens":4,"completionTokens":2}}
                """.formatted(ids("a")[0], ids("b")[0])));

        JsonNode answer = json(post("/v1/completions", WHOLE));

        assertThat(text(answer)).isEqualTo("ab");
        assertThat(answer.path("usage").path("prompt_tokens_details").path("cached_tokens").asInt()).isEqualTo(4);
    }

    @Test
    void a_line_without_end_is_cut_off_at_256_kibibytes() {
        join("w0").doing(FakeWorker.answering(200, "{\"type\":\"tokens\",\"ids\":[" + "1,".repeat(200_000)));

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(json(response).path("error").path("code").asString()).isEqualTo("invalid_worker_answer");
    }

    /** No deadline of the router would end it before the client gives up. */
    @Test
    void an_answer_is_whole_with_its_last_event_whether_or_not_the_worker_closes_the_body() {
        join("w0").doing(FakeWorker.finishingWithoutEndOfBody(ids("ok")));

        assertThat(text(json(post("/v1/completions", WHOLE)))).isEqualTo("ok");
    }

    @Test
    void connections_are_used_again_after_an_answer_that_ended_well() {
        FakeWorker worker = join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));

        // the client has its answer a moment before the connection is back in the pool: some may find none
        eventually(() -> {
            int before = worker.acceptedConnections();
            for (int i = 0; i < 3; i++) {
                post("/v1/completions", WHOLE);
            }
            return worker.acceptedConnections() == before;
        });
    }
}
