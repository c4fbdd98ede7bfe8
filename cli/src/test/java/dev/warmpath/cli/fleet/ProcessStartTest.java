package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.fleet.Launches.Launch;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fleets of shells, which write down what they are told. */
class ProcessStartTest {

    private static final URI URL = URI.create("http://127.0.0.1:1");

    @TempDir
    Path state;
    private Installation installation;

    @BeforeEach
    void make() {
        installation = new Installation(Path.of(".."), state, System.getenv());
        installation.makeFolders();
    }

    @AfterEach
    void stop() throws IOException {
        new FleetStop(installation).stop();
    }

    /** Writes its id into the file "order" when it is told to end. */
    private Launch process(Role role, String id) {
        return new Launch(role, id, 1, URL, List.of("/bin/sh", "-c",
                "trap 'echo " + id + " >>" + state.resolve("order") + "; exit' TERM; echo up $SECRET; "
                        + "while :; do sleep 0.05; done"));
    }

    private Launches start(Launch... all) throws IOException {
        var launches = Launches.of(Map.of("PATH", System.getenv("PATH"), "SECRET", "word"), List.of(all));
        launches.write(state);
        var start = new ProcessStart(installation, launches);
        for (Launch launch : all) {
            start.begin(launch);
        }
        for (Launch launch : all) {
            while (!LifeSigns.hasSaid(installation.log(launch.id()), "up word")) {
                Thread.onSpinWait();
            }
        }
        return launches;
    }

    @Test
    void routers_are_stopped_before_workers_and_redis_last_whatever_the_order_of_their_start() throws IOException {
        start(process(Role.REDIS, "redis"), process(Role.WORKER, "worker-1"), process(Role.ROUTER, "router"));

        new FleetStop(installation).stop();

        assertThat(state.resolve("order")).hasContent("router\nworker-1\nredis");
        assertThat(FleetFile.read(state)).isNull();
        assertThat(state.resolve("launches.json")).doesNotExist();
        assertThat(state.resolve("stopping")).doesNotExist();
    }

    @Test
    void a_ctrl_c_of_the_terminal_ends_no_process_of_the_fleet() throws IOException, InterruptedException {
        start(process(Role.WORKER, "worker-1"));
        FleetMember member = FleetFile.require(state).members().getFirst();

        for (String signal : List.of("-INT", "-HUP")) {
            assertThat(new ProcessBuilder("kill", signal, Long.toString(member.pid())).start().waitFor()).isZero();
        }

        FleetStop.end(List.of(member));
        assertThat(state.resolve("order")).as("it lived to be told").hasContent("worker-1");
    }

    @Test
    void what_a_restart_needs_is_readable_by_its_owner_alone() throws IOException {
        Launches launches = start(process(Role.WORKER, "worker-1"));

        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(state.resolve("launches.json"))))
                .isEqualTo("rw-------");
        assertThat(Launches.read(state)).isEqualTo(launches);
        assertThat(launches.isStillThere(state)).isTrue();
        assertThat(Launches.of(launches.environment(), launches.launches()).isStillThere(state))
                .as("another fleet of the same folder").isFalse();
    }

    @Test
    void one_restart_goes_after_the_other() throws IOException {
        try (var _ = new RestartMark(state, "worker-1")) {
            assertThat(RestartMark.isOn(state, "worker-1")).isTrue();
            assertThat(RestartMark.isOn(state, "worker-2")).isFalse();
            assertThatThrownBy(() -> new RestartMark(state, "worker-2"))
                    .hasMessage("worker-1 is being restarted; wait until it is ready");
        }
        assertThat(RestartMark.isOn(state, "worker-1")).isFalse();
    }

    @Test
    void workers_shared_weights_go_with_the_fleet_and_other_files_stay() throws IOException {
        Path shared = Files.createDirectories(installation.sharedWeights());
        for (String name : List.of("a.panels", "a.panels.1.part", "panels.lock", "mine.txt")) {
            Files.writeString(shared.resolve(name), "");
        }
        new FleetStop(installation).forget();
        assertThat(shared.toFile().list()).containsExactly("mine.txt");
    }
}
