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

    @Test
    void a_line_that_is_none_is_named() throws IOException {
        Path broken = Files.writeString(folder.resolve("broken.jsonl"), LINES + "{\"timestamp\": 1}\n");

        assertThatIOException().isThrownBy(() -> MooncakeTrace.read(broken)).withMessageContaining("line 4");
    }
}
