package dev.warmpath.planner.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.planner.trace.TraceSettings;
import dev.warmpath.workload.Session;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceLoadTest {

    @TempDir
    Path folder;

    @Test
    void three_copies_are_three_times_the_requests_in_order_of_time_with_one_block_in_common() throws IOException {
        Path trace = trace(30, /* millis apart */ 100);

        List<Session> all = sessions(new TraceLoad(trace, TraceSettings.DEFAULT, 3, 1));

        assertThat(all).hasSize(90);
        assertThat(all).extracting(Session::startMicros).isSorted();
        Set<Long> own = new HashSet<>();
        all.forEach(session -> own.add(session.turns().getFirst().prompt().pieces()[1]));
        assertThat(own).as("second blocks, of which the file has ten").hasSize(30);
        assertThat(all).allMatch(session -> session.turns().getFirst().prompt().pieces()[0] == 0);
    }

    @Test
    void a_copy_begins_in_the_middle_of_the_file_and_goes_on_with_its_begin() throws IOException {
        Path trace = trace(4, 100);                                 // at 0, 100, 200, 300 ms

        List<Session> all = sessions(new TraceLoad(trace, TraceSettings.DEFAULT, 2, 1));

        // the second copy is shifted by half the span: what comes at 200 and 300 ms comes at 50 and 150
        assertThat(all.stream().map(session -> Math.round(session.startMicros() / 1e4)).toList())
                .containsExactly(0L, 5L, 10L, 15L, 15L, 20L, 25L, 30L);
    }

    @Test
    void twice_the_speed_is_half_the_time() throws IOException {
        List<Session> all = sessions(new TraceLoad(trace(3, 100), TraceSettings.DEFAULT, 1, 2));

        assertThat(all).extracting(Session::startMicros).containsExactly(0L, 50_000L, 100_000L);
    }

    /** Each prompt is the block that all have and one of ten. */
    private Path trace(int requests, int millis) throws IOException {
        var lines = new StringBuilder();
        for (int i = 0; i < requests; i++) {
            lines.append("{\"timestamp\": %d, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [0, %d]}%n"
                    .formatted(i * millis, 1 + i % 10));
        }
        return Files.writeString(folder.resolve("trace.jsonl"), lines);
    }

    private static List<Session> sessions(Load load) throws IOException {
        List<Session> all = new ArrayList<>();
        try (Load.Sessions sessions = load.open()) {
            sessions.forEachRemaining(all::add);
        }
        return all;
    }
}
