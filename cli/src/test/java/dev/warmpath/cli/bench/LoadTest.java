package dev.warmpath.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.fleet.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoadTest {

    @TempDir
    Path folder;

    @Test
    void the_six_shapes_of_the_hit_rate_table_have_names_and_what_is_none_has_no_load() {
        assertThat(Load.names()).contains("chatbot", "multi-turn", "rag", "code-completion", "summaries", "random");
        for (String name : Load.names()) {
            assertThat(Load.drawn(name, 1)).as(name).isNotNull();
        }
        assertThat(Load.drawn("chatbots", 1)).isNull();
    }

    @Test
    void a_trace_ends_and_is_as_fast_as_it_was_recorded() throws IOException {
        Path file = Files.writeString(folder.resolve("trace.jsonl"), """
                {"timestamp": 0, "input_length": 600, "output_length": 10, "hash_ids": [0, 1]}
                {"timestamp": 4000, "input_length": 512, "output_length": 700, "hash_ids": [0]}
                """);
        Load load = Load.traced(file);

        assertThat(load.sessionsPerSecond()).isEqualTo(0.25);               // the next one after four seconds
        assertThat(load.longestTokens()).isEqualTo(1_212);
        assertThat(load.pieceTokens()).isEqualTo(512);
        assertThat(load.requests()).isEqualTo(2);
        assertThat(load.next()).isNotNull();
        assertThat(load.next()).isNotNull();
        assertThat(load.next()).isNull();
    }

    @Test
    void a_file_that_is_no_trace_is_a_sentence() throws IOException {
        Path empty = Files.writeString(folder.resolve("empty.jsonl"), "");
        Path nonsense = Files.writeString(folder.resolve("nonsense.jsonl"), "<html>\n");

        assertThatThrownBy(() -> Load.traced(empty)).isInstanceOf(CommandException.class)
                .hasMessageEndingWith("has no request in it");
        assertThatThrownBy(() -> Load.traced(nonsense)).isInstanceOf(CommandException.class)
                .hasMessageContaining("is none of Mooncake's: line 1 of " + nonsense);
        assertThatThrownBy(() -> Load.traced(folder.resolve("none"))).isInstanceOf(CommandException.class)
                .hasMessageStartingWith("cannot read the trace ");
    }
}
