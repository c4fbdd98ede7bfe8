package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTailTest {

    @TempDir
    Path folder;

    private Path log(String text) throws IOException {
        return Files.writeString(folder.resolve("worker-1.log"), text);
    }

    @Test
    void last_words_begin_at_the_description_behind_a_stack_trace() throws IOException {
        Path log = log("starting\n\tat a.B.c\nDescription:\n\nthe port is taken\n");
        assertThat(LogTail.lastWords(log))
                .containsExactly("--- from " + log, "Description:", "", "the port is taken");
    }

    @Test
    void without_one_they_are_the_last_25_lines() throws IOException {
        Path log = log(IntStream.rangeClosed(1, 100).mapToObj(Integer::toString).collect(Collectors.joining("\n")));
        assertThat(LogTail.lastWords(log)).hasSize(26).startsWith("--- last lines of " + log, "76").endsWith("100");
    }

    @Test
    void of_a_log_of_16_mb_the_end_is_read_and_of_none_nothing() throws IOException {
        Path log = log("x".repeat(63).concat("\n").repeat(1 << 18) + "last\n");
        assertThat(LogTail.lines(log, 2)).containsExactly("x".repeat(63), "last");
        assertThat(LogTail.lines(folder.resolve("none"), 2)).isEmpty();
        assertThat(LogTail.lastWords(folder.resolve("none"))).isEmpty();
    }
}
