package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LifeSignsTest {

    private static long at(int seconds) {
        return Duration.ofSeconds(seconds).toNanos();
    }

    @Test
    void a_start_stalls_when_its_signs_have_been_the_same_for_as_long_as_its_patience() {
        var signs = new LifeSigns(Duration.ofSeconds(20), at(0));
        assertThat(signs.stalls("worker-1=1/100", at(0))).isFalse();
        assertThat(signs.stalls("worker-1=1/100", at(9))).isFalse();
        assertThat(signs.stalls("worker-1=1/100", at(19))).isFalse();
        assertThat(signs.stalls("worker-1=1/100", at(20))).isTrue();
    }

    @Test
    void a_byte_in_the_log_begins_the_time_anew() {
        var signs = new LifeSigns(Duration.ofSeconds(20), at(0));
        signs.stalls("worker-1=1/100", at(1));
        signs.stalls("worker-1=1/100", at(10));
        assertThat(signs.stalls("worker-1=1/101", at(19))).isFalse();
        assertThat(signs.stalls("worker-1=1/101", at(28))).isFalse();
        assertThat(signs.stalls("worker-1=1/101", at(37))).isFalse();
        assertThat(signs.stalls("worker-1=1/101", at(39))).isTrue();
    }

    @Test
    void an_hour_asleep_counts_as_ten_seconds() {
        var signs = new LifeSigns(Duration.ofSeconds(20), at(0));
        signs.stalls("worker-1=1/100", at(1));
        assertThat(signs.stalls("worker-1=1/100", at(3600))).isFalse();
        assertThat(signs.stalls("worker-1=1/100", at(7200))).isTrue();
    }

    @Test
    void signs_of_a_process_are_its_whole_seconds_and_its_logs_length(@TempDir Path folder) throws IOException {
        Path log = Files.writeString(folder.resolve("worker-1.log"), "four");
        assertThat(LifeSigns.of(ProcessHandle.current().pid(), log)).matches("\\d+/4");
        assertThat(LifeSigns.of(ProcessHandle.current().pid(), folder.resolve("none"))).endsWith("/0");
    }

    @Test
    void a_message_is_told_without_what_stands_before_it_and_cut_at_ninety_characters(@TempDir Path folder)
            throws IOException {
        Path log = Files.writeString(folder.resolve("log"), "first\n2026-11-27T03:50 INFO --- [main] a.B  : warmed "
                + "up\n");
        assertThat(LifeSigns.lastMessage(log)).isEqualTo("warmed up");
        Files.writeString(log, "x".repeat(200));
        assertThat(LifeSigns.lastMessage(log)).hasSize(90);
        assertThat(LifeSigns.lastMessage(folder.resolve("none"))).isEqualTo("has not said anything yet");
    }
}
