package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** How much a key may use, over HTTP, by a clock that stands. A prompt has 3 tokens, an answer 4. */
@TestPropertySource(properties = "warmpath.admission.max-in-flight=64")
class KeyLimitsTest extends KeyedRouter {

    private static final String STREAM = TEXT.replace("}", ",'stream':true}");

    private FakeWorker worker;

    @BeforeEach
    void a_worker_is_there() {
        worker = join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));
    }

    private static String header(HttpResponse<?> answer, String name) {
        return answer.headers().firstValue(name).orElse(null);
    }

    private static void assertLimited(HttpResponse<String> answer, String type) {
        assertThat(answer.statusCode()).isEqualTo(429);
        assertThat(json(answer).path("error").path("type").asString()).isEqualTo(type);
        assertThat(json(answer).path("error").path("code").asString()).isEqualTo("rate_limit_exceeded");
    }

    @Test
    void of_60_requests_at_once_20_are_answered() {
        accept(KEYS + line("crowd", "wp-crowd", "requests-per-minute=20"));
        try (var http = HttpClient.newHttpClient()) {
            List<CompletableFuture<HttpResponse<String>>> answers = IntStream.range(0, 60)
                    .mapToObj(_ -> request("/v1/completions", "wp-crowd", TEXT))
                    .map(request -> http.sendAsync(request, BodyHandlers.ofString()))
                    .toList();

            assertThat(answers.stream().map(each -> each.join().statusCode()).filter(status -> status == 200))
                    .hasSize(20);
            assertThat(answers.stream().map(CompletableFuture::join).filter(each -> each.statusCode() != 200))
                    .hasSize(40).allSatisfy(refused -> {
                        assertLimited(refused, "requests");
                        assertThat(header(refused, "retry-after")).isEqualTo("3");
                        assertThat(header(refused, "retry-after-ms")).isEqualTo("3000");
                        assertThat(header(refused, "x-ratelimit-remaining-requests")).isEqualTo("0");
                    });
        }
        assertThat(post("/v1/completions", TEAM, TEXT).statusCode()).as("others are not limited").isEqualTo(200);
    }

    @Test
    void answers_tell_what_is_left_whole_ones_and_streams() {
        accept(KEYS + line("told", "wp-told", "requests-per-minute=10 tokens-per-minute=600"));

        HttpResponse<String> whole = post("/v1/completions", "wp-told", TEXT);
        assertThat(header(whole, "x-ratelimit-limit-requests")).isEqualTo("10");
        assertThat(header(whole, "x-ratelimit-remaining-requests")).isEqualTo("9");
        assertThat(header(whole, "x-ratelimit-reset-requests")).isEqualTo("6s");
        assertThat(header(whole, "x-ratelimit-limit-tokens")).isEqualTo("600");
        assertThat(header(whole, "x-ratelimit-remaining-tokens")).as("3 and 4 are taken").isEqualTo("593");

        HttpResponse<String> stream = post("/v1/completions", "wp-told", STREAM);
        assertThat(stream.body()).endsWith("data: [DONE]\n\n");
        assertThat(header(stream, "x-ratelimit-remaining-tokens")).as("its own prompt is taken").isEqualTo("590");
        assertThat(header(stream, "x-ratelimit-reset-tokens")).isEqualTo("1s");
        assertThat(header(post("/v1/completions", TEAM, TEXT), "x-ratelimit-limit-requests")).isNull();
    }

    @Test
    void tokens_that_are_used_up_are_waited_for_and_an_answer_that_took_too_many_is_paid_for() {
        accept(KEYS + line("short", "wp-short", "tokens-per-minute=6"));

        assertThat(post("/v1/completions", "wp-short", TEXT).statusCode()).isEqualTo(200);   // 6 - 3 - 4 = -1
        HttpResponse<String> refused = post("/v1/completions", "wp-short", TEXT);
        assertLimited(refused, "tokens");
        assertThat(header(refused, "retry-after")).isEqualTo("20");
        assertThat(header(refused, "x-ratelimit-remaining-tokens")).isEqualTo("0");
        MILLIS.addAndGet(20_000);                                                            // 1
        HttpResponse<String> tooSoon = post("/v1/completions", "wp-short", TEXT);
        assertLimited(tooSoon, "tokens");
        assertThat(header(tooSoon, "retry-after-ms")).as("for two more").isEqualTo("20000");
        MILLIS.addAndGet(20_000);
        assertThat(post("/v1/completions", "wp-short", TEXT).statusCode()).isEqualTo(200);
        assertThat(worker.requests()).hasSize(2);
    }

    @Test
    void a_prompt_of_more_than_a_minutes_tokens_is_not_worth_trying_again() {
        accept(KEYS + line("tiny", "wp-tiny", "tokens-per-minute=2"));

        HttpResponse<String> refused = post("/v1/completions", "wp-tiny", STREAM);

        assertLimited(refused, "tokens");
        assertThat(header(refused, "x-should-retry")).isEqualTo("false");
        assertThat(header(refused, "retry-after")).isNull();
        assertThat(worker.requests()).isEmpty();
    }

    @Test
    void what_goes_to_no_worker_costs_a_request_and_no_tokens() {
        accept(KEYS + line("wrong", "wp-wrong", "requests-per-minute=10 tokens-per-minute=600"));

        assertThat(post("/v1/completions", "wp-wrong", "{").statusCode()).isEqualTo(400);
        assertThat(post("/v1/completions", "wp-wrong", TEXT.replace("4}", "62}")).statusCode()).isEqualTo(400);
        assertThat(post("/tokenize", "wp-wrong", "{'model':'tiny','prompt':'Hello'}").statusCode()).isEqualTo(200);
        loseLease(worker);
        HttpResponse<String> unavailable = post("/v1/completions", "wp-wrong", TEXT);
        assertThat(unavailable.statusCode()).isEqualTo(503);
        assertThat(header(unavailable, "x-ratelimit-remaining-requests")).isEqualTo("6");
        assertThat(header(unavailable, "x-ratelimit-remaining-tokens")).isEqualTo("600");
    }

    /** Else a client that leaves before the last token would have the rest for nothing. */
    @Test
    void who_leaves_has_used_what_was_drawn_until_then() throws IOException {
        accept(KEYS + line("left", "wp-left", "tokens-per-minute=600"));
        worker.doing(FakeWorker.hangingAfter(12, 13));
        String json = STREAM.replace('\'', '"');
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            socket.getOutputStream().write(("POST /v1/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
                    + "wp-left\r\ncontent-type: application/json\r\ncontent-length: " + json.length() + "\r\n\r\n"
                    + json)
                    .getBytes(StandardCharsets.US_ASCII));
            eventually(() -> worker.generations() == 1);
            var text = new StringBuilder();
            while (text.toString().split("data: ", -1).length < 3) {
                text.append((char) socket.getInputStream().read());
            }
        }
        eventually(() -> inFlight() == 0);
        eventually(() -> "595".equals(header(get("/v1/models", "wp-left"), "x-ratelimit-remaining-tokens")));
    }
}
