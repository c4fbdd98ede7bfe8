package dev.warmpath.planner.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class AnalyzeAndOrderTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    Path folder;

    @Test
    void analyze_tells_blocks_budget_and_digest_as_json() throws IOException {
        assertThat(call("analyze", trace().toString(), "--json", "--bytes-per-token", "1000")).as(err.toString())
                .isZero();

        JsonNode result = JsonMapper.builder().build().readTree(out.toString());
        assertThat(result.path("blocks").path("total").asInt()).isEqualTo(100);
        assertThat(result.path("blocks").path("found").asInt()).as("the common block, but for the first").isEqualTo(99);
        assertThat(result.path("cache_budget").path("bytes").asLong()).isEqualTo(2 * 512 * 1_000);
        assertThat(result.path("inputs").get(0).path("sha256").asString()).hasSize(64);
        assertThat(result.path("most_shared").get(0).path("tokens").asInt()).isEqualTo(512);
    }

    @Test
    void a_cache_that_is_too_small_is_told_with_both_sizes() throws IOException {
        call("analyze", trace().toString(), "--cache", "512");
        assertThat(out.toString()).contains("why not more: the cache is too small: it has 1 blocks");
    }

    @Test
    void a_bad_line_ends_an_analysis_with_file_and_line_and_nothing_else() throws IOException {
        Path file = Files.writeString(folder.resolve("bad.jsonl"), "{\"prompt\": [1]}\n{\"prompt\": [-1]}\n");
        assertThat(call("analyze", file.toString())).isEqualTo(1);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString()).startsWith("warmpath: " + file + ", line 2: prompt has token ids");
    }

    @Test
    void order_writes_over_the_file_that_it_has_read() throws IOException {
        Path file = Files.writeString(folder.resolve("batch.jsonl"), """
                {"prompt": "one and the same beginning of sixty-four characters, no, of more 1"}
                {"prompt": "another beginning of sixty-four characters, or rather more of them 1"}
                {"prompt": "one and the same beginning of sixty-four characters, no, of more 2"}
                """);
        assertThat(call("order", file.toString(), "--out", file.toString(), "--cache", "20")).isZero();

        assertThat(Files.readAllLines(file)).extracting(line -> line.substring(line.length() - 3))
                .containsExactly("1\"}", "2\"}", "1\"}");
        assertThat(out.toString()).contains("3 prompts, 3 full blocks of 16 tokens", "as the file has it",
                "by beginnings");
    }

    @Test
    void wrong_calls_are_refused() {
        assertThat(call("analyze", "x", "--bytes-per-token", "0")).isEqualTo(2);
        assertThat(call("order", "x", "--cache", "0")).isEqualTo(2);
        assertThat(call("analyze", "x", "--block-tokens", "3")).isEqualTo(2);
        assertThat(err.toString()).contains("--bytes-per-token is 1 or more", "--cache is 1 token or more",
                "--block-tokens takes a number from 12 to 1024, not 3");
    }

    private int call(String... arguments) {
        return PlanCommands.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    }

    private Path trace() throws IOException {
        var lines = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            lines.append("{\"timestamp\": %d, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [0, %d]}%n"
                    .formatted(i * 500, 1 + i));
        }
        return Files.writeString(folder.resolve("trace.jsonl"), lines);
    }
}
