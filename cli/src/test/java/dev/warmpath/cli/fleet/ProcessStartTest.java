package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.cli.build.Jdk;
import dev.warmpath.cli.fleet.Launches.Launch;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
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

    /** As `restart` does while another command stops the fleet: the router writes it down when it is told to end. */
    @Test
    void a_process_that_comes_in_while_others_are_stopped_is_stopped_as_well() throws IOException {
        Path late = state.resolve("late");
        Launch router = new Launch(Role.ROUTER, "router", 1, URL, List.of("/bin/sh", "-c",
                "trap 'cat " + late + " >>" + state.resolve("fleet") + "; exit' TERM; echo up $SECRET; "
                        + "while :; do sleep 0.05; done"));
        start(router, process(Role.WORKER, "worker-1"));
        List<String> lines = Files.readAllLines(state.resolve("fleet"));
        Files.writeString(late, lines.getLast() + "\n");
        Files.writeString(state.resolve("fleet"), lines.getFirst() + "\n");

        new FleetStop(installation).stop();

        assertThat(state.resolve("order")).hasContent("worker-1");
    }

    @Test
    void secrets_are_forgotten_even_where_no_process_was_started() throws IOException {
        Launches.of(Map.of("SECRET", "word"), List.of()).write(state);
        new FleetStop(installation).stop();
        assertThat(state.resolve("launches.json")).doesNotExist();
    }

    /** 0xE4 is an umlaut in Latin 1, and no text in UTF-8. */
    @Test
    void bytes_of_the_environment_that_are_no_text_reach_a_process_as_they_are() throws Exception {
        Path test = state.resolve("bytes");
        Process outer = new ProcessBuilder("/bin/sh", "-c", "NAME=$(printf 'K\\344se') exec \"$@\"", "sh",
                Jdk.tool("java"), "-cp", System.getProperty("java.class.path"), Starter.class.getName(),
                state.toString()).inheritIO().start();
        assertThat(outer.waitFor()).isZero();
        assertThat(Files.readAllBytes(test)).containsExactly('K', 0xE4, 's', 'e');
    }

    /** Starts a process with its own environment, and one variable more. */
    static final class Starter {

        public static void main(String[] arguments) throws Exception {
            var wanted = new HashMap<>(System.getenv());
            wanted.put("MORE", "1");
            var builder = new ProcessBuilder("/bin/sh", "-c", "test $MORE = 1 && printf %s \"$NAME\" >\"$0\"/bytes",
                    arguments[0]);
            Environments.make(builder, wanted);
            System.exit(builder.inheritIO().start().waitFor());
        }
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
