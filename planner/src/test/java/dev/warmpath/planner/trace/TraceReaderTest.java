package dev.warmpath.planner.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.workload.MooncakeTrace;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TraceReaderTest {

    @TempDir
    Path folder;

    @Test
    void mooncakes_requests_come_as_the_reader_of_whole_traces_has_them() throws IOException {
        Path file = write("""
                {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
                {"timestamp": 3000, "input_length": 512, "output_length": 0, "hash_ids": [0], "other": "unknown field"}
                {"timestamp": 3000, "input_length": 1025, "output_length": 7, "hash_ids": [0, 4, 5]}
                {"timestamp": 6000, "input_length": 1, "output_length": 7, "hash_ids": [8]}
                """);

        List<Arrival> all = read(file, TraceSettings.DEFAULT);

        List<Session> whole = MooncakeTrace.read(file).overlaid(1);
        for (int i = 0; i < whole.size(); i++) {
            assertThat(all.get(i).micros()).isEqualTo(whole.get(i).startMicros());
            assertThat(all.get(i).turn().answerTokens()).isEqualTo(whole.get(i).turns().getFirst().answerTokens());
            assertThat(all.get(i).turn().prompt().pieces()).isEqualTo(whole.get(i).turns().getFirst().prompt()
                    .pieces());
        }
        assertThat(all).extracting(Arrival::micros).containsExactly(0L, 3_000_000L, 4_500_000L, 6_000_000L);
        assertThat(all).extracting(Arrival::line).containsExactly(1L, 2L, 3L, 4L);
    }

    @Test
    void blocks_of_16_tokens_are_found_by_the_first_line_and_a_partial_block_may_lack_its_id() throws IOException {
        List<Arrival> all = read(write("""
                {"timestamp": 0, "input_length": 40, "output_length": 5, "hash_ids": [0, 1, 2]}
                {"timestamp": 1, "input_length": 40, "output_length": 5, "hash_ids": [0, 1]}
                """), TraceSettings.DEFAULT);

        assertThat(all).allMatch(each -> each.turn().prompt().pieceTokens() == 16);
        assertThat(all.get(1).turn().prompt().pieces()).hasSize(3).startsWith(0, 1);
    }

    @Test
    void prompts_that_begin_alike_have_the_same_first_pieces_and_no_others() throws IOException {
        List<Arrival> all = read(write("""
                {"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], "max_tokens": 9}
                {"tokens": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 99]}
                {"body": {"prompt": [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}}
                """), TraceSettings.DEFAULT);

        Prompt first = all.get(0).turn().prompt();
        assertThat(first.length()).isEqualTo(18);
        assertThat(all.get(1).turn().prompt().pieces()[0]).isEqualTo(first.pieces()[0]);
        assertThat(all.get(1).turn().prompt().pieces()[1]).isNotEqualTo(first.pieces()[1]);
        assertThat(all.get(2).turn().prompt().pieces()[0]).isNotEqualTo(first.pieces()[0]);
        assertThat(all.get(2).turn().prompt().pieces()[1]).as("chained").isNotEqualTo(first.pieces()[1]);
        assertThat(all).extracting(each -> each.turn().answerTokens()).containsExactly(9, 128, 128);
        assertThat(all.get(0).micros()).isZero();
        assertThat(all).extracting(Arrival::micros).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void a_text_has_a_token_for_each_four_bytes_and_messages_share_what_they_begin_with() throws IOException {
        String system = "You are a helpful assistant that answers in one sentence, and never in two of them, ever. ";
        List<Arrival> all = read(write("""
                {"prompt": "%1$s"}
                {"messages": [{"role": "system", "content": "%1$s"}, {"role": "user", "content": "Hi"}]}
                {"messages": [{"role": "system", "content": "%1$s"}, \
                {"role": "user", "content": [{"type": "text", "text": "Ho"}]}]}
                """.formatted(system)), TraceSettings.DEFAULT);

        assertThat(all.get(0).turn().prompt().length()).isEqualTo(Math.ceilDiv(system.length(), 4));
        assertThat(all.get(1).turn().prompt().pieces()[0]).isEqualTo(all.get(2).turn().prompt().pieces()[0]);
        assertThat(all.get(1).turn().prompt().pieces()[1]).isNotEqualTo(all.get(2).turn().prompt().pieces()[1]);
    }

    @Test
    void times_may_be_milliseconds_seconds_or_iso_8601() throws IOException {
        assertThat(read(write("{\"prompt\": [1], \"timestamp\": 7}\n{\"prompt\": [1], \"timestamp\": 9.5}"),
                TraceSettings.DEFAULT)).extracting(Arrival::micros).containsExactly(0L, 2_500L);
        assertThat(read(write("{\"prompt\": [1], \"arrival_time\": 7}\n{\"prompt\": [1], \"arrival_time\": 9.5}"),
                TraceSettings.DEFAULT)).extracting(Arrival::micros).containsExactly(0L, 2_500_000L);
        assertThat(read(write("""
                {"prompt": [1], "at": "2026-11-24T09:30:00Z"}
                {"prompt": [1], "at": "2026-11-24T10:30:00.000250+01:00"}
                """), TraceSettings.DEFAULT)).extracting(Arrival::micros).containsExactly(0L, 250L);
    }

    @Test
    void a_routers_log_comes_in_the_order_of_arrivals_without_what_no_worker_was_asked_for() throws IOException {
        List<Arrival> all = read(write("""
                {"at": "2026-11-24T09:30:02Z", "request": "b", "prompt_tokens": 40, \
                "decisions": [{"block_size": 16}], "prompt_keys": "AAAAAAAAAAEAAAAAAAAAAg==", \
                "outcome": {"completion_tokens": 3}}
                {"at": "2026-11-24T09:30:03Z", "request": "c", "prompt_tokens": null, "decisions": [], "outcome": null}
                {"at": "2026-11-24T09:30:01Z", "request": "a", "prompt_tokens": 20, \
                "decisions": [{"block_size": 16}], "prompt_keys": "AAAAAAAAAAE=", \
                "outcome": {"completion_tokens": null}}
                """), TraceSettings.DEFAULT);

        assertThat(all).extracting(Arrival::line).containsExactly(3L, 1L);
        assertThat(all).extracting(Arrival::micros).containsExactly(0L, 1_000_000L);
        assertThat(all).extracting(each -> each.turn().answerTokens()).containsExactly(128, 3);
        assertThat(all.get(0).turn().prompt().pieces()[0]).isEqualTo(all.get(1).turn().prompt().pieces()[0]);
        assertThat(all.get(1).turn().prompt().pieces()).hasSize(3);
    }

    @Test
    void two_hundred_thousand_requests_pass_one_by_one_with_the_digest_of_the_file() throws Exception {
        Path file = folder.resolve("long.jsonl");
        try (BufferedWriter writer = Files.newBufferedWriter(file)) {
            for (int i = 0; i < 200_000; i++) {
                writer.write("{\"timestamp\": %d, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, %d]}\n"
                        .formatted(i / 3, i));
            }
        }
        try (TraceReader reader = TraceReader.open(file, TraceSettings.DEFAULT)) {
            long last = 0;
            for (Arrival next = reader.next(); next != null; next = reader.next()) {
                assertThat(next.micros()).isGreaterThanOrEqualTo(last);
                last = next.micros();
            }
            assertThat(reader.requests()).isEqualTo(200_000);
            assertThat(reader.share()).isEqualTo(1);
            assertThat(reader.sha256()).isEqualTo(HexFormat.of().formatHex(
                    MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file))));
        }
    }

    private Path write(String text) throws IOException {
        return Files.writeString(folder.resolve("trace.jsonl"), text);
    }

    private static List<Arrival> read(Path file, TraceSettings settings) throws IOException {
        List<Arrival> all = new ArrayList<>();
        try (TraceReader reader = TraceReader.open(file, settings)) {
            for (Arrival next = reader.next(); next != null; next = reader.next()) {
                all.add(next);
            }
        }
        return all;
    }
}
