package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.OtlpReceiver;
import dev.warmpath.process.OtlpReceiver.ReceivedSpan;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** A fleet that traces, and what its collector gets. The test in which the collector goes comes last. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TracedFleetTest {

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String CLIENT_SPAN = "00f067aa0ba902b7";
    private static final List<String> ROUTERS = List.of("text_completion warmpath-tiny", "tokenize", "hash", "queue",
            "route", "upstream");
    private static final List<String> WORKERS = List.of("queue", "prefill", "decode");

    private static OtlpReceiver collector;
    private static LocalFleet fleet;

    @BeforeAll
    static void start() {
        collector = new OtlpReceiver();
        String[] tracing = {
            "--management.opentelemetry.tracing.export.otlp.endpoint=" + collector.endpoint(),
            "--management.opentelemetry.tracing.export.schedule-delay=50ms"};
        fleet = LocalFleet.start(1, 2, LocalFleet.patient(tracing), List.of(tracing));
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
        collector.close();
    }

    @Test
    @Order(1)
    void a_completion_is_one_tree_from_the_client_to_the_workers_steps() throws Exception {
        String prompt = "What is a KV cache, and what does a router have to know about it? ".repeat(4);
        complete(traceId(1), prompt);
        complete(traceId(2), prompt);

        assertIsOneTree(traceId(1));
        Map<String, ReceivedSpan> worker = byName(ofService("warmpath-worker", traceId(2)));
        ReceivedSpan upstream = byName(ofService("warmpath-router", traceId(2))).get("upstream");
        assertThat(worker.get("prefill").attributes().get("warmpath.cached_tokens"))
                .isEqualTo(upstream.attributes().get("warmpath.cached_tokens"))
                .isEqualTo(upstream.attributes().get("warmpath.predicted_cached_tokens"))
                .isEqualTo(cachedTokens(worker.get("prefill")));
        assertThat(worker.get("decode").attributes())
                .isEqualTo(Map.of("warmpath.completion_tokens", 5L, "warmpath.preemptions", 0L));
        assertThat(worker.get("queue").endNanos()).isEqualTo(worker.get("prefill").startNanos());
        assertThat(worker.get("prefill").endNanos()).isEqualTo(worker.get("decode").startNanos());
    }

    /** All full blocks but the last token's. */
    private static long cachedTokens(ReceivedSpan prefill) {
        long promptTokens = (long) prefill.attributes().get("warmpath.prompt_tokens");
        return (promptTokens - 1) / LocalFleet.BLOCK_SIZE * LocalFleet.BLOCK_SIZE;
    }

    @Test
    @Order(2)
    void of_twenty_completions_at_a_time_each_is_a_tree_of_its_own() throws Exception {
        List<String> traces = IntStream.range(100, 120).mapToObj(TracedFleetTest::traceId).toList();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> answers = new ArrayList<>();
            traces.forEach(trace -> answers.add(clients.submit(() -> complete(trace, "Number " + trace))));
            for (Future<?> answer : answers) {
                answer.get();
            }
        }

        traces.forEach(TracedFleetTest::assertIsOneTree);
    }

    @Test
    @Order(3)
    void no_exported_byte_is_a_word_of_a_prompt() throws Exception {
        String trace = traceId(200);
        complete(trace, "zebra ".repeat(30));

        received(trace);
        assertThat(collector.bodies()).isNotEmpty().noneMatch(body ->
                new String(body, StandardCharsets.ISO_8859_1).contains("zebra"));
    }

    @Test
    @Order(4)
    void without_its_collector_a_fleet_answers_as_before_and_counts_what_is_lost() throws Exception {
        collector.close();
        for (int i = 0; i < 10; i++) {
            complete(traceId(300 + i), "Hello");
        }

        Await.until("the router has given up sending some spans", () ->
                fleet.gateway().meter("warmpath_spans_total{outcome=\"failed\"}") > 0);
        assertThat(fleet.gateway().meter("warmpath_spans_total{outcome=\"dropped\"}")).isZero();
    }

    private static void assertIsOneTree(String trace) {
        List<ReceivedSpan> spans = received(trace);
        Map<String, ReceivedSpan> router = byName(ofService("warmpath-router", trace));
        Map<String, ReceivedSpan> worker = byName(ofService("warmpath-worker", trace));
        ReceivedSpan server = router.get("POST /v1/completions");
        ReceivedSpan answer = router.get("text_completion warmpath-tiny");
        ReceivedSpan generate = worker.get("POST /v1/generate");
        assertThat(spans).hasSize(1 + ROUTERS.size() + 1 + WORKERS.size());
        assertThat(server.parentId()).isEqualTo(CLIENT_SPAN);
        assertThat(ROUTERS).allSatisfy(name -> assertThat(router.get(name).parentId()).as(name)
                .isEqualTo(name.equals(answer.name()) ? server.spanId() : answer.spanId()));
        assertThat(generate.parentId()).isEqualTo(router.get("upstream").spanId());
        assertThat(WORKERS).allSatisfy(name ->
                assertThat(worker.get(name).parentId()).as(name).isEqualTo(generate.spanId()));
    }

    private static List<ReceivedSpan> received(String trace) {
        int whole = 1 + ROUTERS.size() + 1 + WORKERS.size();
        Await.until("all spans of " + trace + " have come", () -> collector.spansOf(trace).size() >= whole);
        return collector.spansOf(trace);
    }

    private static List<ReceivedSpan> ofService(String service, String trace) {
        return received(trace).stream().filter(span -> span.service().equals(service)).toList();
    }

    private static Map<String, ReceivedSpan> byName(List<ReceivedSpan> spans) {
        return spans.stream().collect(Collectors.toMap(ReceivedSpan::name, Function.identity()));
    }

    private static Void complete(String trace, String prompt) throws Exception {
        HttpResponse<String> response = HTTP.send(HttpRequest.newBuilder(fleet.gateway().uri("/v1/completions"))
                .header("content-type", "application/json")
                .header("traceparent", "00-" + trace + "-" + CLIENT_SPAN + "-01")
                .POST(HttpRequest.BodyPublishers.ofString("""
                        {"model":"warmpath-tiny","prompt":"%s","max_tokens":5,"temperature":0,"ignore_eos":true}"""
                        .formatted(prompt))).build(), HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return null;
    }

    private static String traceId(int number) {
        return "%032x".formatted(0xacce0000L + number);
    }
}
