package dev.warmpath.router.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.OtlpReceiver;
import dev.warmpath.process.OtlpReceiver.ReceivedSpan;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import io.opentelemetry.proto.trace.v1.Span.SpanKind;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** A router with tracing on, and what a collector gets from it. */
@ExtendWith(OutputCaptureExtension.class)
@TestPropertySource(properties = {
    "management.tracing.sampling.probability=1",
    "management.opentelemetry.tracing.export.schedule-delay=20ms",
    "warmpath.admission.max-in-flight=64",
    "logging.expect-correlation-id=true",      // here the log is set up before the collector is known
})
class TracingTest extends RunningRouter {

    private static final OtlpReceiver COLLECTOR = new OtlpReceiver();
    private static final String CLIENT_SPAN = "00f067aa0ba902b7";

    @DynamicPropertySource
    static void collector(DynamicPropertyRegistry properties) {
        properties.add("management.opentelemetry.tracing.export.otlp.endpoint", COLLECTOR::endpoint);
    }

    @AfterAll
    static void close() {
        COLLECTOR.close();
    }

    @Test
    void a_chat_is_a_tree_of_spans_under_the_clients_and_the_worker_hears_whose_work_it_is() {
        FakeWorker worker = join("w").doing(FakeWorker.finishing(FinishReason.STOP, 4, ids("some words")));
        String trace = traceId(1);
        HttpResponse<String> response = send(traced(trace, "01", "/v1/chat/completions", """
                {'model':'tiny','messages':[{'role':'user','content':'Hello'}],'max_tokens':9,'temperature':0.7,
                 'stream':true}"""));

        Map<String, ReceivedSpan> spans = byName(trace, 7);
        assertThat(spans).containsOnlyKeys("POST /v1/chat/completions", "chat tiny", "tokenize", "hash", "queue",
                "route", "upstream");
        ReceivedSpan server = spans.get("POST /v1/chat/completions");
        ReceivedSpan chat = spans.get("chat tiny");
        ReceivedSpan upstream = spans.get("upstream");
        assertThat(server.parentId()).isEqualTo(CLIENT_SPAN);
        assertThat(server.service()).isEqualTo("warmpath-router");
        assertThat(server.kind()).isEqualTo(SpanKind.SPAN_KIND_SERVER);
        assertThat(server.attributes()).isEqualTo(Map.of("http.request.method", "POST",
                "http.route", "/v1/chat/completions", "url.path", "/v1/chat/completions",
                "http.response.status_code", 200L));
        assertThat(chat.parentId()).isEqualTo(server.spanId());
        assertThat(chat.kind()).isEqualTo(SpanKind.SPAN_KIND_INTERNAL);
        assertThat(chat.events()).containsExactly("first_token");
        assertThat(List.of("tokenize", "hash", "queue", "route", "upstream")).allSatisfy(name ->
                assertThat(spans.get(name).parentId()).isEqualTo(chat.spanId()));
        assertThat(chat.attributes()).containsAllEntriesOf(Map.of("gen_ai.operation.name", "chat",
                        "gen_ai.provider.name", "warmpath", "gen_ai.request.model", "tiny",
                        "gen_ai.response.model", "tiny", "gen_ai.request.max_tokens", 9L,
                        "gen_ai.request.temperature", 0.7, "gen_ai.request.stream", true,
                        "gen_ai.response.finish_reasons", List.of("stop"), "warmpath.revision", REVISION))
                .containsAllEntriesOf(Map.of("gen_ai.usage.output_tokens", (long) ids("some words").length,
                        "gen_ai.usage.cache_read.input_tokens", 4L,
                        "warmpath.request.id", response.headers().firstValue("x-request-id").orElseThrow()))
                .containsKeys("gen_ai.usage.input_tokens", "gen_ai.response.time_to_first_chunk");
        assertThat(upstream.kind()).isEqualTo(SpanKind.SPAN_KIND_CLIENT);
        assertThat(upstream.events()).containsExactly("first_token");
        assertThat(upstream.attributes()).isEqualTo(Map.of("warmpath.attempt", 1L, "warmpath.worker.id", "w",
                "warmpath.route.reason", "only_one", "warmpath.predicted_cached_tokens", 0L,
                "warmpath.cached_tokens", 4L));
        assertThat(worker.traceparents()).containsExactly("00-" + trace + "-" + upstream.spanId() + "-01");
        assertThat(response.headers().firstValue("traceresponse"))
                .contains("00-" + trace + "-" + server.spanId() + "-01");
    }

    @Test
    void a_request_that_goes_on_to_another_worker_shows_both_tries_and_its_log_line_has_the_traces_id(
            CapturedOutput output) {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17};
        FakeWorker broken = join("broken").doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "no"));
        announce(broken, prompt, 2);
        join("well").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        String trace = traceId(2);
        send(traced(trace, "01", "/v1/completions", "{'model':'tiny','prompt':" + Arrays.toString(prompt) + "}"));

        List<ReceivedSpan> spans = received(trace, 9);
        List<ReceivedSpan> tries = spans.stream().filter(span -> span.name().equals("upstream")).toList();
        assertThat(tries).extracting(span -> span.attributes().get("warmpath.worker.id"))
                .containsExactly("broken", "well");
        assertThat(tries).extracting(span -> span.attributes().get("warmpath.attempt")).containsExactly(1L, 2L);
        assertThat(tries).extracting(ReceivedSpan::isError).containsExactly(true, false);
        assertThat(tries.getFirst().attributes()).containsEntry("error.type", "engine_failure");
        ReceivedSpan answer = only("text_completion tiny", spans);
        assertThat(answer.events()).containsExactly("retry", "first_token");
        assertThat(answer.isError()).isFalse();
        assertThat(answer.attributes()).doesNotContainKey("gen_ai.response.time_to_first_chunk");
        assertThat(output.toString().lines().filter(line -> line.contains("goes on to another worker"))).hasSize(1)
                .allSatisfy(line -> assertThat(line).contains("[" + trace + "-" + answer.spanId() + "]"));
    }

    @Test
    void a_request_that_nobody_answers_is_an_error_and_its_log_line_has_the_traces_id(CapturedOutput output) {
        join("broken").doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "no"));
        String trace = traceId(7);
        send(traced(trace, "01", "/v1/completions", "{'model':'tiny','prompt':'Hello'}"));

        List<ReceivedSpan> spans = received(trace, 8);             // the route to nobody is one, too
        assertThat(only("text_completion tiny", spans).attributes()).containsEntry("error.type", "engine_failure");
        ReceivedSpan server = only("POST /v1/completions", spans);
        assertThat(server.isError()).isTrue();
        assertThat(server.attributes()).containsEntry("http.response.status_code", 502L);
        assertThat(output.toString().lines().filter(line -> line.contains("is answered with 502"))).hasSize(1)
                .allSatisfy(line -> assertThat(line).contains("[" + trace + "-" + server.spanId() + "]"));
    }

    @Test
    void what_is_not_sampled_leaves_no_span_and_its_worker_hears_that() {
        FakeWorker worker = join("w");
        String trace = traceId(3);
        HttpResponse<String> response =
                send(traced(trace, "00", "/v1/completions", "{'model':'tiny','prompt':'Hello'}"));
        String later = traceId(4);
        send(traced(later, "01", "/v1/completions", "{'model':'tiny','prompt':'Hello'}"));

        received(later, 7);
        assertThat(COLLECTOR.spansOf(trace)).isEmpty();
        assertThat(worker.traceparents()).hasSize(2);
        assertThat(worker.traceparents().remove()).matches("00-" + trace + "-[0-9a-f]{16}-00");
        assertThat(response.headers().firstValue("traceresponse").orElseThrow())
                .matches("00-" + trace + "-[0-9a-f]{16}-00");
    }

    @Test
    void of_twenty_requests_at_a_time_each_has_a_tree_of_its_own() throws Exception {
        join("a");
        join("b");
        List<String> traces = IntStream.range(100, 120).mapToObj(TracingTest::traceId).toList();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<HttpResponse<String>>> answers = new ArrayList<>();
            for (String trace : traces) {
                answers.add(clients.submit(() -> send(traced(trace, "01", "/v1/completions",
                        "{'model':'tiny','prompt':'Hello " + trace + "'}"))));
            }
            for (Future<HttpResponse<String>> answer : answers) {
                assertThat(answer.get().statusCode()).isEqualTo(200);
            }
        }

        for (String trace : traces) {
            Map<String, ReceivedSpan> spans = byName(trace, 7);
            ReceivedSpan server = spans.get("POST /v1/completions");
            ReceivedSpan answer = spans.get("text_completion tiny");
            assertThat(server.parentId()).isEqualTo(CLIENT_SPAN);
            assertThat(answer.parentId()).isEqualTo(server.spanId());
            assertThat(List.of("tokenize", "hash", "queue", "route", "upstream")).allSatisfy(name ->
                    assertThat(spans.get(name).parentId()).isEqualTo(answer.spanId()));
        }
    }

    @Test
    void no_byte_that_is_exported_is_a_word_of_a_prompt_or_an_answer_or_an_error() {
        String mark = "zebra";
        FakeWorker worker = join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids(mark)));
        String trace = traceId(5);
        UnaryOperator<String> text = content -> "{'model':'tiny','prompt':'" + content + "'}";
        assertThat(send(traced(trace, "01", "/v1/completions", text.apply(mark))).body()).contains(mark);
        assertThat(send(traced(trace, "01", "/v1/chat/completions",
                "{'model':'tiny','messages':[{'role':'" + mark + "','content':'" + mark + "'}]}")).body())
                .contains(mark);
        assertThat(send(traced(trace, "01", "/v1/completions", text.apply(mark.repeat(200)))).statusCode())
                .isEqualTo(400);
        assertThat(send(traced(trace, "01", "/v1/completions", "{'" + mark + "':")).statusCode()).isEqualTo(400);
        assertThat(send(traced(trace, "01", "/v1/completions", "{'model':'" + mark + "'," + "'prompt':'x'}")).body())
                .contains(mark);
        worker.doing(FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, mark));
        assertThat(send(traced(trace, "01", "/v1/completions", text.apply("x"))).statusCode())
                .isGreaterThanOrEqualTo(400);
        HttpRequest odd = HttpRequest.newBuilder(uri("/v1/completions?" + mark + "=" + mark))
                .header("content-type", "application/json").header("user-agent", mark).header("x-" + mark, mark)
                .header("baggage", mark + "=" + mark).header("tracestate", "zeb=1")
                .header("traceparent", "00-" + trace + "-" + CLIENT_SPAN + "-01")
                .POST(HttpRequest.BodyPublishers.ofString("{}")).build();
        assertThat(send(odd).statusCode()).isEqualTo(400);

        eventually(() -> COLLECTOR.spansOf(trace).stream()
                .filter(span -> span.parentId().equals(CLIENT_SPAN)).count() == 7);
        assertThat(COLLECTOR.bodies()).noneMatch(body ->
                new String(body, StandardCharsets.ISO_8859_1).contains(mark));
    }

    @Test
    void a_histogram_of_first_tokens_keeps_a_trace_as_an_example() {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        String trace = traceId(6);
        send(traced(trace, "01", "/v1/completions", "{'model':'tiny','prompt':'Hello'}"));

        HttpResponse<String> page = send(HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + managementPort() + "/actuator/prometheus"))
                .header("accept", "application/openmetrics-text;version=1.0.0").build());

        assertThat(page.body().lines().filter(line -> line.startsWith("warmpath_time_to_first_token_seconds_bucket")
                && line.contains("# {"))).isNotEmpty().anySatisfy(line -> assertThat(line).contains("trace_id=\""));
        assertThat(COLLECTOR.spans()).noneMatch(span -> span.name().contains("actuator"));
    }

    private HttpRequest traced(String trace, String flags, String path, String body) {
        return HttpRequest.newBuilder(request(path, body), (_, _) -> true)
                .header("traceparent", "00-" + trace + "-" + CLIENT_SPAN + "-" + flags).build();
    }

    private static String traceId(int number) {
        return "%032x".formatted(0xa000 + number);
    }

    private static List<ReceivedSpan> received(String trace, int count) {
        eventually(() -> COLLECTOR.spansOf(trace).size() >= count);
        assertThat(COLLECTOR.spansOf(trace)).hasSize(count);
        return COLLECTOR.spansOf(trace);
    }

    private static Map<String, ReceivedSpan> byName(String trace, int count) {
        return received(trace, count).stream().collect(Collectors.toMap(ReceivedSpan::name, Function.identity()));
    }

    private static ReceivedSpan only(String name, List<ReceivedSpan> spans) {
        List<ReceivedSpan> found = spans.stream().filter(span -> span.name().equals(name)).toList();
        assertThat(found).as(name).hasSize(1);
        return found.getFirst();
    }
}
