package dev.warmpath.cli.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.build.Jdk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The system locks for programs, not for threads: the other one is a JVM of its own. */
class StateLockTest {

    @TempDir
    Path state;
    private final List<Process> others = new ArrayList<>();

    /** Takes the lock, says so, and holds it until it is ended. */
    static final class Holder {

        public static void main(String[] arguments) throws IOException, InterruptedException {
            try (var _ = StateLock.take(Path.of(arguments[0]), arguments[1])) {
                System.out.println("locked");
                Thread.sleep(Long.MAX_VALUE);
            }
        }
    }

    @AfterEach
    void end() {
        others.forEach(Process::destroyForcibly);
    }

    private Process other(String work) throws IOException {
        Process other = new ProcessBuilder(Jdk.tool("java"), "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), Holder.class.getName(), state.toString(), work)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        others.add(other);
        assertThat(other.inputReader().readLine()).isEqualTo("locked");
        return other;
    }

    @Test
    void who_comes_second_is_told_what_the_first_one_does() throws IOException, InterruptedException {
        Process up = other(StateLock.UP);
        assertThat(StateLock.isAt(state, StateLock.UP)).isTrue();
        assertThatThrownBy(() -> StateLock.take(state, StateLock.UP)).isInstanceOf(CommandException.class)
                .hasMessage("a fleet is being started by process " + up.pid() + "; wait until it is ready, or end it "
                        + "by ./warmpath down");
        up.destroyForcibly().waitFor();
        assertThat(StateLock.isAt(state, StateLock.UP)).as("a process that is gone is at nothing").isFalse();

        Process restart = other(StateLock.restart("worker-1"));
        assertThat(StateLock.isAt(state, StateLock.restart("worker-1"))).isTrue();
        assertThat(StateLock.isAt(state, StateLock.restart("worker-2"))).isFalse();
        assertThatThrownBy(() -> StateLock.take(state, StateLock.restart("worker-2"))).hasMessage("worker-1 is being "
                + "restarted by process " + restart.pid() + "; wait until it is ready");
        assertThat(restart.isAlive()).isTrue();
    }

    @Test
    void who_stops_the_fleet_ends_who_starts_something_and_goes_on_then() throws IOException {
        Process restart = other(StateLock.restart("worker-1"));
        try (var _ = StateLock.takeFromWhoStarts(state)) {
            assertThat(restart.isAlive()).as("the system has given its lock back").isFalse();
            assertThat(StateLock.isAt(state, StateLock.DOWN)).isTrue();
        }
        assertThat(StateLock.isAt(state, StateLock.DOWN)).isFalse();
        StateLock.take(state, StateLock.UP).close();
    }

    @Test
    void a_stop_waits_for_the_one_before_it() throws IOException, InterruptedException {
        Process down = other(StateLock.DOWN);
        Thread second = Thread.ofVirtual().start(() -> {
            try {
                StateLock.takeFromWhoStarts(state).close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        Thread.sleep(300);
        assertThat(down.isAlive()).as("it was not asked to end").isTrue();
        assertThat(second.isAlive()).isTrue();
        down.destroy();
        second.join();
    }

    @Test
    void nothing_but_who_holds_it_makes_it_held() throws IOException {
        Files.writeString(state.resolve("lock"), "");
        Files.writeString(state.resolve("lock.holder"), "up 1 1");
        assertThat(StateLock.isAt(state, StateLock.UP)).isFalse();
        StateLock.take(state, StateLock.UP).close();
    }
}
