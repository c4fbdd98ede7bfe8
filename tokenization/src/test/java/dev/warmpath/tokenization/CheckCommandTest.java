package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code check} as the launcher calls it, of the model that ships and of what has been made of it. */
class CheckCommandTest {

    private static final Path WHOLE = Path.of("../models/warmpath-tiny");

    @TempDir
    Path folder;

    /** What it said, and its exit status. */
    private record Said(int status, String text) {}

    @BeforeEach
    void copy() throws IOException {
        for (String name : List.of("tokenizer.json", "tokenizer_config.json", "config.json")) {
            Files.copy(WHOLE.resolve(name), folder.resolve(name));
        }
    }

    private static Said check(String... arguments) {
        var said = new ByteArrayOutputStream();
        var out = new PrintStream(said, true, StandardCharsets.UTF_8);
        return new Said(CheckCommand.run(List.of(arguments), out, out), said.toString(StandardCharsets.UTF_8));
    }

    @Test
    void files_that_make_a_tokenizer_are_answered_with_nothing() throws IOException {
        assertThat(check(folder.toString())).isEqualTo(new Said(0, ""));

        Files.writeString(folder.resolve("config.json"), "{\"time_step_limit\": [0.0, Infinity]}");
        assertThat(check(folder.toString())).as("as Python writes it").isEqualTo(new Said(0, ""));

        Files.delete(folder.resolve("tokenizer_config.json"));
        assertThat(check(folder.toString())).isEqualTo(new Said(0, ""));
    }

    @Test
    @Timeout(60)
    void a_pipe_in_place_of_a_file_is_not_waited_for() throws IOException, InterruptedException {
        Path tokenizer = folder.resolve("tokenizer.json");
        Files.delete(tokenizer);
        assertThat(new ProcessBuilder("mkfifo", tokenizer.toString()).start().waitFor()).isZero();

        assertThat(check(folder.toString())).isEqualTo(new Said(0, ""));
    }

    @Test
    void a_tokenizer_of_a_kind_that_nobody_knows_is_a_problem() throws IOException {
        Files.writeString(folder.resolve("tokenizer.json"), "{\"model\": {\"type\": \"Magic\", \"vocab\": {}}}");

        assertThat(check(folder.toString())).satisfies(said -> {
            assertThat(said.status()).isEqualTo(1);
            assertThat(said.text()).startsWith("- " + folder + ": tokenizer.json does not load: ").hasLineCount(1);
        });
    }

    @Test
    void a_chat_template_that_cannot_be_read_is_a_warning() throws IOException {
        Files.writeString(folder.resolve("chat_template.jinja"), "{% for message in %}");

        assertThat(check(folder.toString())).satisfies(said -> {
            assertThat(said.status()).isZero();
            assertThat(said.text()).startsWith("warning: " + folder + ": its chat template 'default' cannot be read, "
                    + "so chat is answered with an error; completions work: ").hasLineCount(1);
        });
    }

    @Test
    void files_that_were_made_of_a_model_are_told_of_by_its_name() throws IOException {
        Files.writeString(folder.resolve("chat_template.jinja"), "{% for message in %}");
        assertThat(check(folder.toString(), "tiny.gguf").text()).startsWith("warning: tiny.gguf: its chat template ")
                .doesNotContain(folder.toString());

        Files.writeString(folder.resolve("tokenizer.json"), "{\"model\": {\"type\": \"Magic\", \"vocab\": {}}}");
        assertThat(check(folder.toString(), "tiny.gguf").text())
                .startsWith("- tiny.gguf: tokenizer.json does not load: ").doesNotContain(folder.toString());
    }

    @Test
    void what_a_workers_check_tells_of_is_left_to_it() throws IOException {
        Files.writeString(folder.resolve("tokenizer.json"), "{");
        assertThat(check(folder.toString())).isEqualTo(new Said(0, ""));

        Files.delete(folder.resolve("tokenizer.json"));
        assertThat(check(folder.toString())).isEqualTo(new Said(0, ""));
    }

    @Test
    void it_takes_a_folder_and_a_model() {
        Said refused = new Said(2, "check takes a model's folder, and maybe the model of which its files were made\n");
        assertThat(check()).isEqualTo(refused);
        assertThat(check("one", "two", "three")).isEqualTo(refused);
    }
}
