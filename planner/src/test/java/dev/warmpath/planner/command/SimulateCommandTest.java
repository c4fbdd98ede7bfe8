package dev.warmpath.planner.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SimulateCommandTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    Path folder;

    @Test
    void json_has_a_row_for_each_policy_and_size_in_the_order_in_which_they_were_asked_for() throws IOException {
        assertThat(call("simulate", trace(200).toString(), "--workers", "2,4", "--cache", "100k", "--policy",
                "round-robin,default", "--json")).as(err.toString()).isZero();

        JsonNode result = JsonMapper.builder().build().readTree(out.toString());
        List<String> rows = new ArrayList<>();
        result.path("results").forEach(row -> rows.add(row.path("policy").asString() + " " + row.path("workers")
                .asInt()));
        assertThat(rows).containsExactly("round-robin 2", "default 2", "round-robin 4", "default 4");
        JsonNode ours = result.path("results").get(1);
        assertThat(ours.path("ttft_mean_seconds").asDouble()).isPositive();
        assertThat(ours.path("ttft_p50_seconds").asDouble()).isLessThanOrEqualTo(ours.path("ttft_p90_seconds")
                .asDouble());
        assertThat(ours.path("ttft_p99_seconds").asDouble()).isPositive();
        assertThat(ours.path("hit_rate").asDouble()).isBetween(0.5, 1.0);
        assertThat(ours.path("requests").asInt()).isEqualTo(200);
        assertThat(result.path("bounds")).hasSize(2);
        assertThat(result.path("bounds").get(0).path("hit_rate_infinite_cache").asDouble())
                .isGreaterThanOrEqualTo(ours.path("hit_rate").asDouble());
        assertThat(result.path("inputs").get(0).path("sha256").asString()).hasSize(64);
        assertThat(result.path("seed").asInt()).isEqualTo(1);
    }

    @Test
    void the_same_call_gives_the_same_bytes_again_and_another_seed_another_draw() {
        String[] arguments = {"simulate", "--load", "rag", "--sessions", "300", "--rate", "4", "--cache", "10%",
                "--policy", "power-of-two", "--json", "--seed", "5"};
        call(arguments);
        String first = out.toString();
        out.getBuffer().setLength(0);
        call(arguments);
        assertThat(out.toString()).isEqualTo(first);

        out.getBuffer().setLength(0);
        arguments[arguments.length - 1] = "6";
        call(arguments);
        assertThat(out.toString()).isNotEqualTo(first);
    }

    @Test
    void the_page_is_one_file_that_loads_nothing_and_has_a_plot_of_sizes() throws IOException {
        Path page = folder.resolve("page.html");
        assertThat(call("simulate", trace(100).toString(), "--workers", "1,2", "--policy", "default,random", "--html",
                page.toString())).isZero();

        assertThat(Files.readString(page)).contains("<svg role='img'", "Mean time to first token: 1 router, cache 400k",
                "default", "sha256").doesNotContain("<script", "http:", "https:", "NaN");
    }

    @Test
    void a_table_ends_with_what_it_comes_from() throws IOException {
        call("simulate", trace(50).toString(), "--policy", "default");

        assertThat(out.toString()).contains("trace.jsonl: 50 requests, 50,000 prompt tokens, blocks of 512 tokens",
                "infinite cache", "TTFT mean").contains("seed 1; trace.jsonl (mooncake, 50 requests, sha256 ");
    }

    @Test
    void without_prefix_caching_nothing_is_found_and_first_tokens_take_longer() throws IOException {
        call("simulate", trace(100).toString(), "--cache", "off,400k", "--policy", "default", "--json");

        JsonNode rows = JsonMapper.builder().build().readTree(out.toString()).path("results");
        assertThat(rows.get(0).path("hit_rate").asDouble()).isZero();
        assertThat(rows.get(0).path("ttft_mean_seconds").asDouble())
                .isGreaterThan(rows.get(1).path("ttft_mean_seconds").asDouble() * 1.3);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "simulate                                       | name a TRACE, or a generated load by --load",
            "simulate --load nothing                        | --load nothing is none of agents",
            "simulate --load rag --policy best              | --policy best is none of default, round-robin",
            "simulate --load rag --cache lots               | --cache: a cache is so many tokens of each worker",
            "simulate --load rag --workers 0                | --workers takes a number from 1 to 10000, not 0",
            "simulate --load rag --workers 4,x              | Invalid value for option '--workers'",
            "simulate --load rag --speed 2                  | --copies and --speed are for traces",
            "simulate --load rag --rate NaN                 | --rate is from 0.0001 to a million, not NaN",
            "simulate --load rag --max-sequences 5000      | --max-sequences takes a number from 1 to 4096",
            "simulate --load rag --max-batched-tokens 100  | --max-batched-tokens takes a number from 256 to 1000000",
            "simulate --load rag --cache 500k --workers 9999 | 9999 workers with a cache of 500k are too large to be",
            "simulate trace --load rag                      | a TRACE or --load, not both",
            "simulate --load rag --cost huge                | --cost huge: is neither large-on-four-cards nor"})
    void a_wrong_call_is_refused_in_a_sentence(String arguments, String sentence) {
        assertThat(call(arguments.strip().split(" +"))).isEqualTo(2);
        assertThat(err.toString()).startsWith("warmpath: ").contains(sentence).contains("plan simulate --help");
    }

    @Test
    void a_file_that_is_not_there_is_named() {
        assertThat(call("simulate", "/nowhere/trace.jsonl")).isEqualTo(1);
        assertThat(err.toString()).startsWith("warmpath: cannot read or write /nowhere/trace.jsonl");
    }

    private int call(String... arguments) {
        CommandLine command = PlanCommands.commandLine();
        return command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    }

    /** Prompts of 1,000 tokens whose only whole block is the same. */
    private Path trace(int requests) throws IOException {
        var lines = new StringBuilder();
        for (int i = 0; i < requests; i++) {
            lines.append("{\"timestamp\": %d, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [0, %d]}%n"
                    .formatted(i * 500, 1 + i));
        }
        return Files.writeString(folder.resolve("trace.jsonl"), lines);
    }
}
