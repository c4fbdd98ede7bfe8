package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** A worker whose answer cannot be right has failed, whatever it says. The model has the ids 0 to 482. */
class WorkerLiesTest extends RunningRouter {

    private static final int[] PROMPT_IDS = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    private static final String WHOLE =
            "{'model':'tiny','max_tokens':2,'prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}";
    private static final String STREAM = WHOLE.replace("{'model'", "{'stream':true,'model'");
    private static final String END = finished(12, 0, 2);

    private static String tokens(String ids) {
        return "{\"type\":\"tokens\",\"index\":0,\"ids\":[" + ids + "]}\n";
    }

    private static String finished(int prompt, int cached, int completion) {
        return """
                {"type":"finished","reason":"length","usage":{"promptTokens":%d,"cachedTokens":%d,"completionTokens":%d}}
                """.formatted(prompt, cached, completion);
    }

    static Stream<Arguments> lies() {
        return Stream.of(
                Arguments.of("a negative id", tokens("-1,30") + END),
                Arguments.of("an id behind the vocabulary", tokens("483,30") + END),
                Arguments.of("three tokens for two", tokens("30,30,30") + finished(12, 0, 3)),
                Arguments.of("three tokens one by one", tokens("30").repeat(3) + finished(12, 0, 3)),
                Arguments.of("no token in an event", tokens("") + tokens("30,30") + END),
                Arguments.of("another choice", tokens("30,30").replace("\"index\":0", "\"index\":1") + END),
                Arguments.of("another prompt", tokens("30,30") + finished(13, 0, 2)),
                Arguments.of("more cached than sent", tokens("30,30") + finished(12, 13, 2)),
                Arguments.of("less than nothing cached", tokens("30,30") + finished(12, -1, 2)),
                Arguments.of("another number of tokens", tokens("30,30") + finished(12, 0, 3)),
                Arguments.of("two ends", tokens("30,30") + END + END),
                Arguments.of("tokens after the end", tokens("30") + finished(12, 0, 1) + tokens("30")),
                Arguments.of("no reason", tokens("30,30") + END.replace("\"reason\":\"length\",", "")),
                Arguments.of("an unknown reason", tokens("30,30") + END.replace("length", "boredom")),
                Arguments.of("no usage", tokens("30,30") + "{\"type\":\"finished\",\"reason\":\"length\"}\n"),
                Arguments.of("no words of its failure", "{\"type\":\"failed\",\"reason\":\"engine_failure\"}\n"),
                Arguments.of("nothing", "null\n"),
                Arguments.of("no event", "[1,2,3]\n"),
                Arguments.of("no JSON", "<html>\n"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("lies")
    void an_answer_that_cannot_be_right_is_given_by_another_worker(String what, String lines) {
        FakeWorker lying = join("w0").doing(FakeWorker.answering(200, lines));
        announce(lying, PROMPT_IDS, 3);
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));
        double before = invalidAnswers();

        HttpResponse<String> whole = post("/v1/completions", WHOLE);

        assertThat(text(json(whole))).as(whole.body()).isEqualTo("ok");
        assertThat(lying.requests()).hasSize(1);
        assertThat(invalidAnswers() - before).isEqualTo(1);
    }

    @Test
    void a_lie_after_the_first_text_ends_the_stream_with_an_error_that_quotes_nothing() throws IOException {
        Sinks.Empty<String> shown = Sinks.empty();
        join("w0").doing(FakeWorker.sending(Flux.just(tokens(Integer.toString(ids("a")[0])))
                .concatWith(shown.asMono()).concatWithValues(tokens("-1"))));

        try (Socket client = rawClient(STREAM)) {
            String first = new String(client.getInputStream().readNBytes(200), StandardCharsets.UTF_8);
            shown.tryEmitEmpty();
            String raw = first + new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

            assertBroken(raw, "invalid_worker_answer");
            assertThat(raw.substring(raw.indexOf("{\"error\"")))
                    .contains("the worker 'w0' sent an answer that cannot be right").doesNotContain("-1");
        }
    }

    @Test
    void a_client_is_not_shown_what_broke_inside_a_worker() {
        join("w0").doing(FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "at /secret/path.c:12"));

        HttpResponse<String> response = post("/v1/completions", WHOLE);

        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(json(response).path("error").path("message").asString())
                .isEqualTo("the worker 'w0' failed on this request");
    }

    @Test
    void a_worker_s_words_are_one_line_of_200_characters_at_most() {
        var refused = new DispatchFailure.Refused("w0", FailureReason.INVALID_REQUEST,
                "no\r\n2026 ERROR forged\u2028\u001b[31m" + "x".repeat(10_000));

        assertThat(refused.message()).startsWith("no 2026 ERROR forged [31mxxx").hasSizeLessThanOrEqualTo(201)
                .endsWith("x…");
    }

    private double invalidAnswers() {
        return management("/actuator/prometheus").body().lines()
                .filter(line -> line.startsWith("warmpath_dispatch_failures_total{cause=\"invalid_answer\"}"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
    }
}
