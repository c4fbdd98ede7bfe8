package dev.warmpath.planner.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SizeCommandTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void the_row_before_the_fewest_workers_says_why_it_is_not_enough() {
        assertThat(call(("size --model llama-3.1-8b --gpu h100-sxm --slo ttft-p90=1s --load rag --sessions 200 --rate"
                + " 20 --json").split(" "))).as(err.toString()).isZero();

        JsonNode result = JsonMapper.builder().build().readTree(out.toString());
        int workers = result.path("workers").asInt();
        assertThat(result.path("round_robin_workers").asInt()).isPositive();
        for (JsonNode run : result.path("runs")) {
            boolean isFewer = run.path("workers").asInt() < workers;
            assertThat(run.path("broken").asString().isEmpty()).as(run.toString()).isNotEqualTo(isFewer);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "--model llama-3.1-70b --gpu l4 --slo ttft-p90=1s --load rag   | a worker's blocks hold 0",
            "--model huge --gpu l4 --slo ttft-p90=1s --load rag            | --model huge: is no config.json",
            "--model llama-3.1-8b --gpu gpu --slo ttft-p90=1s --load rag   | --gpu gpu is none of h100-sxm",
            "--model llama-3.1-8b --gpu l4 --slo fast --load rag           | --slo: a bound is ttft or itl",
            "--model llama-3.1-8b --gpu l4 --slo ttft-p90=1s               | name a file by --trace",
            "--model llama-3.1-8b --gpu l4 --slo ttft-p90=1s --load rag --headroom 1 | --headroom is 0 to below 1"})
    void what_cannot_be_is_refused_with_its_numbers(String arguments, String sentence) {
        assertThat(call(("size " + arguments.strip()).split(" +"))).isEqualTo(2);
        assertThat(err.toString()).startsWith("warmpath: ").contains(sentence);
    }

    private int call(String... arguments) {
        return PlanCommands.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    }
}
