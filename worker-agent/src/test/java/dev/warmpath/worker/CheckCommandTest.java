package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.GgufWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** {@code check} as the launcher calls it: what it prints, and how it ends. */
class CheckCommandTest {

    private static final String MODEL = "--warmpath.model.directory=../models/warmpath-tiny";

    /** What it said, and its exit status. */
    private record Said(int status, String out, String err) {}

    private static Said check(UnaryOperator<String> words, String... arguments) {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        List<String> all = new ArrayList<>(List.of(arguments));
        if (all.stream().noneMatch(argument -> argument.startsWith("--warmpath.compute.backend="))) {
            all.add("--warmpath.compute.backend=scalar");
        }
        int status = CheckCommand.run(all, words, new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new Said(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    @Test
    void a_model_that_would_start_is_answered_with_what_to_start_it_with() {
        Said said = check(UnaryOperator.identity(), "--machine", "8GB", "--beside", "700MB", MODEL);

        assertThat(said.status()).isZero();
        assertThat(said.out().lines().filter(line -> !line.startsWith("warning: "))).containsExactly("workers=2",
                "heap=1024m", "young=197m", "direct=128m", "context=2048",
                "summary=a context of 2,048 tokens, a KV cache of 39,312 tokens", "kv-memory=128MB");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void workers_share_weights_where_there_are_several_and_their_folder_takes_them(@TempDir Path folder)
            throws IOException {
        String vector = "--warmpath.compute.backend=vector";
        String shared = "--warmpath.model.shared-weights=" + folder.resolve("weights");
        assertThat(check(UnaryOperator.identity(), "--workers", "2", shared, vector, MODEL).out())
                .contains("\nshare=yes\n");
        assertThat(check(UnaryOperator.identity(), "--workers", "1", shared, vector, MODEL).out())
                .doesNotContain("share=");
        assertThat(check(UnaryOperator.identity(), "--workers", "2", shared, MODEL).out())
                .as("plain loops, weights on the heap").doesNotContain("share");

        Files.writeString(folder.resolve("file"), "no folder");
        Said nowhere = check(UnaryOperator.identity(), "--workers", "2", vector, MODEL,
                "--warmpath.model.shared-weights=" + folder.resolve("file"));
        assertThat(nowhere.status()).isZero();
        assertThat(nowhere.out()).contains("warning: workers do not share weights: ").doesNotContain("share=yes");
    }

    @Test
    void keys_and_values_of_half_the_bytes_are_twice_the_tokens() {
        Said said = check(UnaryOperator.identity(), "--machine", "8GB", "--warmpath.kv.cache-dtype=bfloat16",
                "--warmpath.kv.memory=64MB", MODEL);

        assertThat(said.status()).isZero();
        assertThat(said.out()).contains("KV cache of 39,312 tokens");
    }

    @Test
    void one_worker_is_started_where_two_have_no_room_unless_two_are_asked_for() {
        Said one = check(UnaryOperator.identity(), "--machine", "1536MB", "--beside", "700MB", MODEL);
        assertThat(one.status()).isZero();
        assertThat(one.out()).contains("warning: one worker is started: there is no room for two", "workers=1\n");

        Said two = check(LauncherWords::of, "--machine", "1536MB", "--beside", "700MB", "--workers", "2", MODEL);
        assertThat(two.status()).isEqualTo(1);
        assertThat(two.out()).startsWith("- this machine has 1,536 MB, which is ").contains("2 workers take, each, ");
    }

    @Test
    void problems_of_names_values_and_the_model_are_one_list_in_the_words_of_whoever_asks(@TempDir Path empty) {
        Said said = check(LauncherWords::of, "--warmpath.model.directory=" + empty, "--warmpath.kv.memroy=1GB",
                "--warmpath.kv.block-size=0", "--warmpath.model.context-length=1", "--warmpath.compute.threads=many");

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.out().lines()).satisfiesExactly(
                name -> assertThat(name)
                        .startsWith("- WARMPATH_KV_MEMROY is no setting; the nearest one is --kv-memory"),
                context -> assertThat(context)
                        .startsWith("- --context is 1, but it must be greater than or equal to 2"),
                block -> assertThat(block).startsWith("- WARMPATH_KV_BLOCKSIZE is 0, but it must be"),
                threads -> assertThat(threads)
                        .startsWith("- WARMPATH_COMPUTE_THREADS is 'many', which cannot be read"));
    }

    @Test
    void a_quantization_that_there_is_none_of_is_refused_by_the_settings_name() {
        assertThat(check(UnaryOperator.identity(), MODEL, "--warmpath.model.quantization=int4").out())
                .startsWith("- warmpath.model.quantization is 'int4', which cannot be read");
        assertThat(check(LauncherWords::of, MODEL, "--warmpath.model.quantization=fp8").out())
                .startsWith("- --quantization is 'fp8', which cannot be read");
    }

    @Test
    void blocks_that_are_counted_are_left_to_whoever_counts_them(@TempDir Path folder) throws Exception {
        Said said = check(UnaryOperator.identity(), "--machine", "8GB", "--warmpath.kv.block-count=200", MODEL);

        assertThat(said.status()).isZero();
        assertThat(said.out()).contains("KV cache of 3,200 tokens").doesNotContain("kv-memory=");
        assertThat(Files.list(folder)).as("nothing is written").isEmpty();
    }

    @Test
    void files_that_a_gguf_file_stands_for_are_written_for_who_reads_such_and_those_of_a_folder_are_not(
            @TempDir Path folder) throws Exception {
        GgufWriter model = GgufWriter.llama(3).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", List.of("a", "b", "c")).put("tokenizer.ggml.merges", List.of());
        Path gguf = model.write(folder.resolve("a.gguf"));
        Path made = folder.resolve("made");

        assertThat(check(UnaryOperator.identity(), "--made", made.toString(), "--machine", "8GB", MODEL).status())
                .isZero();
        assertThat(made).doesNotExist();

        assertThat(check(UnaryOperator.identity(), "--made", made.toString(), "--machine", "8GB",
                "--warmpath.model.directory=" + gguf).status()).isZero();
        assertThat(Files.list(made)).map(file -> file.getFileName().toString()).containsExactlyInAnyOrder(
                "config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json");
        assertThat(Files.readString(made.resolve("tokenizer.json"))).contains("\"vocab\":{\"a\":0,\"b\":1,\"c\":2}");

        Path some = folder.resolve("some");
        model.put("tokenizer.ggml.merges", List.of("a d")).write(gguf);
        assertThat(check(UnaryOperator.identity(), "--made", some.toString(), "--warmpath.kv.block-size=0",
                "--warmpath.model.directory=" + gguf).out()).contains("has merge 0, 'a d'");
        assertThat(some.resolve("tokenizer_config.json")).as("what can be made").exists();
        assertThat(some.resolve("tokenizer.json")).doesNotExist();
    }

    @Test
    void arguments_that_it_does_not_have_are_another_status() {
        assertThat(check(UnaryOperator.identity(), "--wrokers", "2")).isEqualTo(new Said(2, "", "check does not know "
                + "'--wrokers'; it takes --workers N, --heap SIZE, --beside SIZE, --machine SIZE, --made DIR and "
                + "settings as --warmpath.model.directory=DIR\n"));
        assertThat(check(UnaryOperator.identity(), "--workers", "two").err())
                .isEqualTo("--workers does not take 'two'\n");
        assertThat(check(UnaryOperator.identity(), "--workers", "0").err())
                .isEqualTo("--workers does not take '0'\n");
    }
}
