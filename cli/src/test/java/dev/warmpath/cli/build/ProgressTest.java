package dev.warmpath.cli.build;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProgressTest {

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(bytes, true, UTF_8);

    @Test
    void in_a_file_each_thing_is_a_line_when_it_begins() {
        try (var progress = new Progress(out, false, 80)) {
            progress.begin("building", () -> "worker-agent, 6/6");
            progress.say("ready");
            progress.end();
        }
        assertThat(bytes.toString(UTF_8)).isEqualTo("building ...\nready\n");
    }

    @ParameterizedTest
    @ValueSource(ints = {40, 80})
    void on_a_terminal_a_line_is_drawn_that_fits_and_is_gone_in_the_end(int width) {
        try (var progress = new Progress(out, true, width)) {
            progress.begin("building", () -> "x".repeat(200));
            progress.say("ready");
        }
        String said = bytes.toString(UTF_8);
        assertThat(said).startsWith("\r\033[K").endsWith("\r\033[K").contains("\r\033[Kready\n");
        assertThat(said.split("\r\033\\[K"))
                .allSatisfy(line -> assertThat(line.strip()).hasSizeLessThan(width));
        assertThat(said).contains(" s  building: xxx");
    }

    @Test
    void mavens_log_tells_at_which_module_a_build_is(@TempDir Path folder) throws IOException {
        Path log = Files.writeString(folder.resolve("build.log"), """
                [INFO] Building Warmpath :: kv-protocol 0.1.0-SNAPSHOT                    [2/7]
                [INFO] Building Warmpath :: tokenization 0.1.0-SNAPSHOT                   [3/7]
                [INFO] compiling
                """);
        assertThat(Build.module(log)).isEqualTo("tokenization, 3/7");
        assertThat(Build.module(folder.resolve("none"))).isEmpty();
    }
}
