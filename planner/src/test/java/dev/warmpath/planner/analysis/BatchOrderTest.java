package dev.warmpath.planner.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.planner.trace.TraceLines;
import dev.warmpath.planner.trace.TraceSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchOrderTest {

    @TempDir
    Path folder;

    @Test
    void two_instructions_in_turn_run_together_what_came_first_in_front_and_lines_as_they_were() throws IOException {
        String a1 = line(1, 11);
        String b1 = line(2, 21);
        String a2 = line(1, 12).replace("{", "{ \"custom_id\":  \"spaces stay\",");
        String b2 = line(2, 22);
        BatchOrder order = order(a1, b1, a2, b2);

        var out = new ByteArrayOutputStream();
        order.write(out);
        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(String.join("\n", a1, a2, b1, b2) + "\n");
        assertThat(order.fullBlocks()).isEqualTo(8);
        // a cache of one prompt: in turn nothing is found, in order one instruction each
        assertThat(order.asItIs(2).computedBlocks()).isEqualTo(8);
        assertThat(order.inOrder(2).computedBlocks()).isEqualTo(6);
        assertThat(order.asItIs(1_000).computedBlocks()).isEqualTo(6);
    }

    @Test
    void equal_prompts_stay_in_their_order_and_a_shorter_one_comes_before_what_continues_it() throws IOException {
        String longer = line(1, 2);
        String shorter = line(1);
        BatchOrder order = order(longer, shorter, longer.replace("{", "{\"n\": 2, "));

        var out = new ByteArrayOutputStream();
        order.write(out);
        assertThat(out.toString(StandardCharsets.UTF_8).lines().toList())
                .containsExactly(shorter, longer, longer.replace("{", "{\"n\": 2, "));
    }

    private BatchOrder order(String... lines) throws IOException {
        Path file = Files.write(folder.resolve("batch.jsonl"), List.of(lines));
        try (TraceLines read = TraceLines.open(file, TraceSettings.DEFAULT)) {
            return BatchOrder.of(read, _ -> {});
        }
    }

    /** A prompt of blocks of 16 equal tokens. */
    private static String line(int... blocks) {
        String tokens = String.join(",", IntStream.of(blocks).mapToObj(block ->
                String.join(",", IntStream.range(0, 16).mapToObj(_ -> Integer.toString(block)).toList())).toList());
        return "{\"prompt\": [" + tokens + "]}";
    }
}
