package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FleetFileTest {

    private static final String LINES = """
            redis redis 11 100 8980 redis://127.0.0.1:8980
            router router 12 101 8080 http://[::1]:8080
            worker worker-1 13 102 8081 http://[::1]:8081
            """;

    @TempDir
    Path state;

    @Test
    void a_line_is_a_process_with_its_role_and_where_it_listens() throws IOException {
        Files.writeString(state.resolve("fleet"), LINES);
        FleetFile fleet = FleetFile.read(state);
        assertThat(fleet).isNotNull();
        assertThat(fleet.members()).hasSize(3);
        assertThat(fleet.member("worker-1")).isEqualTo(
                new FleetMember(Role.WORKER, "worker-1", 13, "102", 8081, URI.create("http://[::1]:8081")));
        assertThat(fleet.of(Role.ROUTER)).singleElement().satisfies(router -> assertThat(
                router.management("/actuator/workers")).isEqualTo(URI.create("http://[::1]:9080/actuator/workers")));
    }

    @Test
    void without_the_file_there_is_no_fleet_and_who_needs_one_is_told() {
        assertThat(FleetFile.read(state)).isNull();
        assertThatThrownBy(() -> FleetFile.require(state)).isInstanceOf(CommandException.class)
                .hasMessage("no fleet is running; start one by ./warmpath up");
    }

    @Test
    void what_is_no_fleet_file_is_a_sentence() throws IOException {
        Files.writeString(state.resolve("fleet"), "nonsense\n");
        assertThatThrownBy(() -> FleetFile.read(state)).isInstanceOf(CommandException.class)
                .hasMessageContaining("no line of a fleet: 'nonsense'");
    }

    @Test
    void a_process_started_again_takes_the_line_of_the_one_before() throws IOException {
        Files.writeString(state.resolve("fleet"), LINES);
        FleetFile.replace(state, new FleetMember(Role.WORKER, "worker-1", 99, "500", 8081,
                URI.create("http://[::1]:8081")));
        assertThat(Files.readString(state.resolve("fleet"))).isEqualTo(LINES.replace("13 102", "99 500"));
    }

    @Test
    void a_pid_that_belongs_to_somebody_else_by_now_is_not_ours() {
        long self = ProcessHandle.current().pid();
        String started = ProcessTable.startedAt(self);
        assertThat(ProcessTable.isOurs(self, started)).isTrue();
        assertThat(ProcessTable.isOurs(self, "1")).isFalse();
        assertThat(ProcessTable.isOurs(self, "")).isFalse();
    }
}
