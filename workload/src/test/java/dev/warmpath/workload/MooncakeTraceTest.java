package dev.warmpath.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MooncakeTraceTest {

    private static final String LINES = """
            {"timestamp": 0, "input_length": 1030, "output_length": 5, "hash_ids": [0, 7, 8]}
            {"timestamp": 0, "input_length": 512, "output_length": 0, "hash_ids": [0]}
            {"timestamp": 3000, "input_length": 600, "output_length": 9, "hash_ids": [0, 7]}
            """;

    @TempDir
    Path folder;
    private MooncakeTrace trace;

    @BeforeEach
    void read() throws IOException {
        trace = MooncakeTrace.read(Files.writeString(folder.resolve("trace.jsonl"), LINES));
    }

    @Test
    void requests_of_one_moment_are_spread_until_the_next() {
        List<Session> sessions = trace.overlaid(1);

        assertThat(sessions).extracting(Session::startMicros).containsExactly(0L, 1_500_000L, 3_000_000L);
        assertThat(sessions.getFirst().turns()).singleElement().satisfies(turn -> {
            assertThat(turn.prompt().length()).isEqualTo(1_030);
            assertThat(turn.prompt().pieces()).containsExactly(0, 7, 8);
            assertThat(turn.answerTokens()).isEqualTo(5);
        });
    }

    @Test
    void a_second_copy_comes_half_the_trace_later_with_numbers_of_its_own_but_for_the_first() {
        List<Session> sessions = trace.overlaid(2);

        assertThat(sessions).hasSize(6).isSortedAccordingTo(
                Comparator.comparingLong(Session::startMicros));
        assertThat(sessions).filteredOn(session -> session.startMicros() == 1_500_500)
                .singleElement().satisfies(session -> assertThat(session.turns().getFirst().prompt().pieces())
                        .containsExactly(0, 15, 17));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"timestamp": 1}                                                                       | 'hash_ids'
            {"timestamp": 1, "input_length": 9000, "output_length": 1, "hash_ids": [0]} | 9000 tokens in 1 pieces of 512
            {"timestamp": 1, "input_length": 9, "output_length": 1, "hash_ids": [-1]} | timestamp and hash_ids
            {"timestamp": "soon", "input_length": 9, "output_length": 1, "hash_ids": [0]}          | soon
            <html>                                                                                 | '<'
            """)
    void a_line_that_is_none_is_named_with_what_is_wrong_in_it(String line, String why) throws IOException {
        Path broken = Files.writeString(folder.resolve("broken.jsonl"), LINES + "\n" + line + "\n");

        assertThatIOException().isThrownBy(() -> MooncakeTrace.read(broken))
                .withMessageStartingWith("line 5 of " + broken + ": ").withMessageContaining(why);
    }

    @Test
    void blank_lines_are_passed_over_and_lines_out_of_order_are_put_in_order() throws IOException {
        String[] lines = LINES.split("\n");
        Path file = Files.writeString(folder.resolve("other.jsonl"),
                lines[2] + "\n\n" + lines[0] + "\n  \n" + lines[1] + "\n\n");

        assertThat(MooncakeTrace.read(file).overlaid(1)).extracting(Session::startMicros)
                .containsExactly(0L, 1_500_000L, 3_000_000L);
    }
}
