package dev.warmpath.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.bench.BenchReport.Results;
import dev.warmpath.cli.fleet.CommandException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Against a real server that says what each test wants. */
class LoadRunTest {

    private static final ScriptedServer.Script AT_ONCE = (exchange, _, _) -> ScriptedServer.stream(exchange,
            ScriptedServer.chunk("a", 1) + ScriptedServer.chunk("b", 2) + ScriptedServer.finish(100, 80, 2));

    @TempDir
    Path folder;

    @Test
    void a_closed_loop_sends_as_many_requests_as_are_wanted_and_adds_up_what_the_server_counts() throws Exception {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            Results results = run(server, "chatbot", closed(4, 40, 0), null);

            assertThat(server.requests).hasSize(40);
            assertThat(results.requests()).isEqualTo(new BenchReport.Requests(40, 40, 0, 0, 0, 0));
            assertThat(results.promptTokens()).isEqualTo(4_000);
            assertThat(results.completionTokens()).isEqualTo(80);
            assertThat(results.hitRate()).isEqualTo(0.8);
        }
    }

    @Test
    void the_first_requests_are_left_out_as_a_warm_up() throws Exception {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            Results results = run(server, "chatbot", closed(2, 15, 5), null);

            assertThat(server.requests).hasSize(15);
            assertThat(results.requests()).isEqualTo(new BenchReport.Requests(10, 10, 0, 5, 0, 0));
        }
    }

    @Test
    void an_open_loop_sends_as_many_and_is_ended_by_its_time() throws Exception {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            assertThat(run(server, "random", open(500, 30, null), null).requests().answered()).isEqualTo(30);
            Results ended = run(server, "random", open(0.001, 30, Duration.ofMillis(100)), null);
            assertThat(ended.requests().answered()).isEqualTo(1);            // the next is due in a quarter of an hour
        }
    }

    @Test
    void an_open_loop_of_sessions_that_think_for_long_offers_its_whole_rate_at_once() throws Exception {
        try (var server = new ScriptedServer(true, 100_000, AT_ONCE)) {     // some 25 turns, 9 s between them
            Results results = run(server, "coding", open(400, 100, null), null);

            assertThat(results.requests().answered()).isEqualTo(100);
            assertThat(results.pace()).isNotNull();
            assertThat(results.pace().offeredPerSecond()).isBetween(300.0, 500.0);      // by the seed, not by a clock
        }
    }

    @Test
    void a_session_of_an_open_loop_goes_on_if_it_is_ready_before_another_one_begins() throws Exception {
        var measurements = new Measurements(null);
        try (var scripted = new ScriptedServer(true, 100_000, AT_ONCE);
                var server = new OpenAiServer(scripted.url(), null, Duration.ofMinutes(1), System::nanoTime)) {
            // ten seconds for each answer, as many as there are between two requests
            new LoadRun(server, Served.find(server, null, true), load("busy-clients"), new Scale(16, 16),
                    open(0.1, 6, null), measurements, () -> measurements.ended() * 10_000_000_000L).run();

            assertThat(scripted.requests).hasSize(6).anySatisfy(request ->
                    assertThat(request.path("prompt").valueStream().mapToInt(JsonNode::asInt)).contains(1, 2));
        }
    }

    @Test
    void a_trace_is_sent_by_its_own_times_quicker_or_slower() throws Exception {
        Path file = Files.writeString(folder.resolve("trace.jsonl"), """
                {"timestamp": 100, "input_length": 600, "output_length": 10, "hash_ids": [0, 1]}
                {"timestamp": 300, "input_length": 512, "output_length": 7, "hash_ids": [0]}
                {"timestamp": 1100, "input_length": 700, "output_length": 7, "hash_ids": [0, 2]}
                """);
        var measurements = new Measurements(null);
        try (var scripted = new ScriptedServer(true, 2_048, AT_ONCE)) {
            run(scripted, Load.traced(file), new LoadRun.Plan(new Pace.Recorded(10), 3, null, 0, 7), measurements,
                    Duration.ofMinutes(10));

            assertThat(scripted.requests).extracting(request -> request.path("prompt").size())
                    .containsExactlyInAnyOrder(600, 512, 700);
            assertThat(measurements.results().pace()).isNotNull();
            assertThat(measurements.results().pace().offeredPerSecond()).isEqualTo(20);     // 3 within a tenth of 1 s
        }
    }

    @Test
    void turns_behind_one_that_failed_are_abandoned_and_counted() throws Exception {
        try (var server = new ScriptedServer(true, 100_000, (exchange, request, number) -> {
            if (number == 3) {
                ScriptedServer.write(exchange, 503, "application/json", "{}");
            } else {
                AT_ONCE.answer(exchange, request, number);
            }
        })) {
            Results results = run(server, "busy-clients", closed(1, 5, 0), null);      // sessions of 40 turns

            assertThat(results.requests().answered()).isEqualTo(4);
            assertThat(results.requests().failed()).isEqualTo(1);
            assertThat(results.requests().abandoned()).isPositive();
            int third = server.requests.get(2).path("prompt").size();
            assertThat(server.requests.get(3).path("prompt").size()).isLessThan(third);      // it began anew
        }
    }

    @Test
    void a_next_turn_has_the_ids_that_were_generated_where_the_load_has_the_answer() throws Exception {
        try (var server = new ScriptedServer(true, 100_000, AT_ONCE)) {
            run(server, "busy-clients", closed(1, 2, 0), null);

            JsonNode first = server.requests.get(0);
            JsonNode second = server.requests.get(1);
            int length = first.path("prompt").size();
            assertThat(first.path("return_token_ids").asBoolean()).isTrue();
            assertThat(length).isGreaterThanOrEqualTo(1_024);
            assertThat(second.path("prompt").get(length - 1)).isEqualTo(first.path("prompt").get(length - 1));
            assertThat(second.path("prompt").get(length).asInt()).isEqualTo(1);
            assertThat(second.path("prompt").get(length + 1).asInt()).isEqualTo(2);
            assertThat(second.path("prompt").get(length + 2).asInt()).isBetween(100, 199);
        }
    }

    @Test
    void a_server_that_takes_no_ids_is_sent_words_and_gets_its_own_text_back() throws Exception {
        try (var server = new ScriptedServer(false, 100_000, AT_ONCE)) {
            run(server, "busy-clients", closed(1, 2, 0), null);

            String first = server.requests.get(0).path("prompt").asString();
            assertThat(first.split(" ")).hasSizeGreaterThan(1_024);
            assertThat(server.requests.get(1).path("prompt").asString()).startsWith(first + "ab ");
        }
    }

    @Test
    void another_seed_shares_no_prompt_and_the_same_one_sends_the_same() throws Exception {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            for (long seed : new long[] {1, 1, 2}) {
                run(server, "chatbot", new LoadRun.Plan(new Pace.Clients(1), 1, null, 0, seed), null);
            }
            assertThat(server.requests.get(1)).isEqualTo(server.requests.get(0));
            assertThat(server.requests.get(2).path("prompt").get(0)).satisfies(token -> assertThat(token)
                    .isNotEqualTo(server.requests.get(0).path("prompt").get(0)));
        }
    }

    @Test
    void a_load_that_is_longer_than_the_context_is_scaled_until_its_longest_turn_fits() throws Exception {
        try (var server = new ScriptedServer(true, 512, AT_ONCE)) {
            run(server, "rag", closed(2, 30, 0), null);

            assertThat(server.requests).hasSize(30).allSatisfy(request -> assertThat(request.path("prompt").size()
                    + request.path("max_tokens").asInt()).isBetween(100, 512));
        }
    }

    @Test
    void errors_are_counted_by_their_kind_and_answers_that_are_whole_still_count() throws Exception {
        var left = new CountDownLatch(1);
        try (var server = new ScriptedServer(true, 2_048, (exchange, request, number) -> {
            switch (number) {
                case 1 -> ScriptedServer.write(exchange, 429, "application/json",
                        "{\"error\":{\"message\":\"slow down\"}}");
                case 2 -> ScriptedServer.stream(exchange, ScriptedServer.chunk("a", 1));
                case 3 -> ScriptedServer.stream(exchange, "data: {\"error\":{\"message\":\"lost it\"}}\n\n");
                case 4 -> ScriptedServer.stream(exchange, "data: {nonsense\n\n");
                case 5 -> ScriptedServer.stream(exchange, "<html>".repeat(3_000_000));
                case 6 -> leave(ScriptedServer.begin(exchange), exchange);
                case 7 -> stay(ScriptedServer.begin(exchange), left);
                default -> AT_ONCE.answer(exchange, request, number);
            }
        })) {
            var measurements = new Measurements(null);
            run(server, "random", closed(1, 9, 0), measurements, Duration.ofMillis(2_000));
            left.countDown();

            assertThat(measurements.results().errors()).isEqualTo(Map.of("http_429", 1L, "broken_stream", 2L,
                    "error_event", 1L, "unreadable", 2L, "timed_out", 1L));
            assertThat(measurements.results().requests().answered()).isEqualTo(2);
            assertThat(measurements.firstError()).isEqualTo("http_429: slow down");
        }
    }

    private static void leave(OutputStream body, AutoCloseable exchange) throws IOException {
        body.write(ScriptedServer.chunk("a", 1).getBytes(StandardCharsets.UTF_8));
        body.flush();
        try {
            exchange.close();
        } catch (Exception e) {
            throw new IOException(e);
        }
    }

    private static void stay(OutputStream body, CountDownLatch until) throws IOException {
        body.write(ScriptedServer.chunk("a", 1).getBytes(StandardCharsets.UTF_8));
        body.flush();
        try {
            until.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void a_server_that_is_not_there_or_serves_something_else_is_a_sentence() throws Exception {
        URI nobody;
        try (var socket = new ServerSocket(0)) {
            nobody = URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }
        try (var server = new OpenAiServer(nobody, null, Duration.ofSeconds(30), System::nanoTime)) {
            assertThatThrownBy(() -> Served.find(server, null, true)).isInstanceOf(CommandException.class)
                    .hasMessage("nobody answers at " + nobody + ": is the server running, and is this its address?");
        }
        try (var scripted = new ScriptedServer(true, 2_048, AT_ONCE);
                var server = new OpenAiServer(scripted.url(), null, Duration.ofSeconds(30), System::nanoTime)) {
            assertThatThrownBy(() -> Served.find(server, "big", true)).isInstanceOf(CommandException.class)
                    .hasMessageContaining("the model 'big' is not served").hasMessageContaining("[small]");
        }
    }

    @Test
    void what_is_stopped_sends_nothing_more() throws Exception {
        try (var scripted = new ScriptedServer(true, 2_048, AT_ONCE);
                var server = new OpenAiServer(scripted.url(), null, Duration.ofSeconds(30), System::nanoTime)) {
            Load load = load("chatbot");
            Served served = Served.find(server, null, true);
            var run = new LoadRun(server, served, load, new Scale(16, 16), closed(4, Long.MAX_VALUE, 0),
                    new Measurements(null), System::nanoTime);
            run.stop();
            run.run();
            assertThat(scripted.requests).isEmpty();
        }
    }

    private static LoadRun.Plan closed(int concurrency, long requests, long warmUp) {
        return new LoadRun.Plan(new Pace.Clients(concurrency), requests, null, warmUp, /* seed */ 7);
    }

    private static LoadRun.Plan open(double rate, long requests, @Nullable Duration duration) {
        return new LoadRun.Plan(new Pace.AtRandom(rate), requests, duration, 0, /* seed */ 7);
    }

    private static Results run(ScriptedServer scripted, String name, LoadRun.Plan plan, @Nullable Slo slo)
            throws InterruptedException {
        var measurements = new Measurements(slo);
        run(scripted, name, plan, measurements, Duration.ofMinutes(10));
        return measurements.results();
    }

    private static void run(ScriptedServer scripted, String name, LoadRun.Plan plan, Measurements measurements,
            Duration timeout) throws InterruptedException {
        run(scripted, load(name), plan, measurements, timeout);
    }

    private static void run(ScriptedServer scripted, Load load, LoadRun.Plan plan, Measurements measurements,
            Duration timeout) throws InterruptedException {
        try (var server = new OpenAiServer(scripted.url(), null, timeout, System::nanoTime)) {
            Served served = Served.find(server, null, true);
            new LoadRun(server, served, load, Scale.fitting(load.longestTokens(), served.contextTokens(),
                    load.pieceTokens()), plan, measurements, System::nanoTime).run();
        }
    }

    private static Load load(String name) {
        Load load = Load.drawn(name, 7);
        assertThat(load).isNotNull();
        return load;
    }
}
