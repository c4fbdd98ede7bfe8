package dev.warmpath.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.terminal.Screen;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;

/** The command as it is called, against a real server. */
class BenchCommandTest {

    private static final ScriptedServer.Script AT_ONCE = (exchange, _, _) -> ScriptedServer.stream(exchange,
            ScriptedServer.chunk("a", 1) + ScriptedServer.chunk("b", 2) + ScriptedServer.finish(100, 80, 2));
    private static final ScriptedServer.Script EVERY_FIFTH_FAILS = (exchange, request, number) -> {
        if (number % 5 == 0) {
            ScriptedServer.write(exchange, 503, "application/json",
                    "{\"error\":{\"message\":\"\\u001b[2Jno\\u009b1m\"}}");
        } else {
            AT_ONCE.answer(exchange, request, number);
        }
    };

    @TempDir
    Path state;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final StringWriter err = new StringWriter();

    @Test
    void a_trace_is_sent_as_a_whole_and_by_its_own_times() throws IOException {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            assertThat(bench(server, "--trace", trace(250), "--speed", "100", "--json")).isZero();
            JsonNode report = json();

            assertThat(server.requests).hasSize(250);
            assertThat(report.path("results").path("requests").path("answered").asInt()).isEqualTo(250);
            assertThat(report.path("speed").asDouble()).isEqualTo(100);
            assertThat(report.path("rate").asDouble()).isBetween(999.9, 1_000.1);        // ten a second in the trace
            assertThat(report.path("concurrency").isNull()).isTrue();
            assertThat(report.path("results").path("pace").path("offered_per_second").asDouble())
                    .isBetween(999.0, 1_001.0);
        }
    }

    @Test
    void a_trace_is_sent_by_clients_or_at_a_rate_if_that_is_asked_for() throws IOException {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            assertThat(bench(server, "--trace", trace(20), "--concurrency", "3")).isZero();
            assertThat(lines().get(1)).startsWith("load          trace.jsonl, closed loop of 3 clients");
            assertThat(server.requests).hasSize(20);
            out.reset();
            assertThat(bench(server, "--trace", trace(20), "--rate", "1000", "--requests", "5")).isZero();
            assertThat(lines().get(1)).startsWith("load          trace.jsonl, open loop of 1000.00 requests/s, the");
            assertThat(server.requests).hasSize(25);
        }
    }

    @Test
    void a_load_of_which_nothing_fits_into_the_context_is_refused_at_once() throws IOException {
        try (var server = new ScriptedServer(true, 256, AT_ONCE)) {
            assertThat(bench(server, "--load", "coding")).isOne();
            assertThat(err.toString()).contains("no request of coding fits: the shortest takes 11",
                    "and the context of small has 256; take another load");
            assertThat(bench(server, "--load", "random", "--scale", "2")).isOne();
            assertThat(err.toString()).contains("take a smaller --scale, or another load");
            assertThat(server.requests).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "0.81, 1", "0.8, 0", "0, 0"})
    void a_run_of_which_too_much_has_failed_is_a_failure(String share, int status) throws IOException {
        try (var server = new ScriptedServer(true, 2_048, EVERY_FIFTH_FAILS)) {
            assertThat(bench(server, "--load", "random", "--concurrency", "1", "--requests", "10", "--fail-under",
                    share)).isEqualTo(status);
            assertThat(lines()).anyMatch(line -> line.startsWith("requests      8 answered, 2 failed"))
                    .contains("  the first   http_503:  [2Jno 1m");              // nothing that a terminal acts on
        }
    }

    @Test
    void the_output_is_json_alone_whatever_the_server_says() throws IOException {
        try (var server = new ScriptedServer(true, 2_048, EVERY_FIFTH_FAILS)) {
            assertThat(bench(server, "--load", "random", "--requests", "10", "--json")).isOne();
            assertThat(json().path("results").path("errors").path("http_503").asInt()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --speed 2                                | --speed is of a --trace that is sent by its own times
            --trace t --speed 2 --rate 3             | --speed is of a --trace that is sent by its own times
            --rate 3 --concurrency 2                 | give one of them
            --fail-under 2                           | --fail-under is 2.0, and must be 0 to 1
            --warm-up 9999999999999                  | --warm-up is 9999999999999, and must be 0 to 2147483647
            --load chat                              | --load chat is none of
            """)
    void a_wrong_call_is_a_sentence(String call, String sentence) throws IOException {
        try (var server = new ScriptedServer(true, 2_048, AT_ONCE)) {
            assertThat(bench(server, call.split(" "))).isEqualTo(2);
            assertThat(err.toString()).contains(sentence);
        }
    }

    /** A request each 100 ms. */
    private String trace(int requests) throws IOException {
        var lines = new StringBuilder();
        for (int i = 0; i < requests; i++) {
            lines.append("{\"timestamp\": %d, \"input_length\": 600, \"output_length\": 4, \"hash_ids\": [0, %d]}\n"
                    .formatted(100 * i, i));
        }
        return Files.writeString(state.resolve("trace.jsonl"), lines).toString();
    }

    private int bench(ScriptedServer server, String... arguments) {
        var screen = new Screen(new PrintStream(out, true, StandardCharsets.UTF_8), /* terminal */ false, true);
        List<String> all = new ArrayList<>(List.of("--url", server.url().toString()));
        all.addAll(Arrays.asList(arguments));
        return new CommandLine(new BenchCommand(new Installation(state, state, Map.of()), screen))
                .setErr(new PrintWriter(err, true)).setExecutionExceptionHandler((failure, _, _) -> {
                    if (failure instanceof CommandException) {
                        err.append(failure.getMessage());
                        return 1;
                    }
                    throw failure;
                }).execute(all.toArray(String[]::new));
    }

    private List<String> lines() {
        return out.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private JsonNode json() {
        return ScriptedServer.JSON.readTree(out.toByteArray());
    }
}
