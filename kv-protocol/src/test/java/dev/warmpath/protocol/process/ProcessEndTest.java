package dev.warmpath.protocol.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes, each with a main of its own below. 143 is SIGTERM's status after an orderly end. */
class ProcessEndTest {

    private static final int ORDERLY = 143;
    private static final int FAILED = 1;
    private static final int OUT_OF_MEMORY = 3;

    @TempDir
    Path folder;

    /** Ends when it is told to. */
    static final class Willing {

        public static void main(String[] arguments) {
            ProcessEnd.guard(() -> Duration.ofHours(1));
            waitForSignal();
        }
    }

    @Test
    void a_deadline_holds_up_nobody_who_ends_before() throws IOException, InterruptedException {
        assertThat(statusAfterSignal(start(Willing.class, List.of()))).isEqualTo(ORDERLY);
    }

    /** A shutdown that never comes to its end, as with a call that a lost device does not answer. */
    static final class Stuck {

        public static void main(String[] arguments) {
            ProcessEnd.guard(() -> Duration.ofMillis(200));
            Runtime.getRuntime().addShutdownHook(new Thread(ProcessEndTest::hang));
            waitForSignal();
        }
    }

    @Test
    void an_end_that_hangs_is_cut_off_at_the_deadline() throws IOException, InterruptedException {
        assertThat(statusAfterSignal(start(Stuck.class, List.of()))).isEqualTo(FAILED);
        assertThat(output()).contains("has not come to its end in PT0.2S, it is halted");
    }

    /** As a worker whose engine broke, and whose shutdown hangs as well. */
    static final class Broken {

        public static void main(String[] arguments) {
            Runtime.getRuntime().addShutdownHook(new Thread(ProcessEndTest::hang));
            ProcessEnd.afterError("books are wrong", new IllegalStateException(), Duration.ofMillis(200));
            hang();
        }
    }

    @Test
    void an_end_after_an_error_is_bounded_as_well() throws IOException, InterruptedException {
        assertThat(status(start(Broken.class, List.of()))).isEqualTo(FAILED);
        assertThat(output()).contains("books are wrong");
    }

    /** What it does first comes to its end in time, and what it does then does not. */
    static final class Hesitant {

        public static void main(String[] arguments) {
            ProcessEnd.halting(Duration.ofHours(1), () -> System.out.println("done in time"));
            System.out.println("and lives on");
            ProcessEnd.halting(Duration.ofMillis(200), ProcessEndTest::hang);
        }
    }

    @Test
    void work_that_hangs_ends_the_process_at_its_deadline() throws IOException, InterruptedException {
        assertThat(status(start(Hesitant.class, List.of()))).isEqualTo(FAILED);
        assertThat(output()).contains("done in time", "and lives on", "has not come to its end in PT0.2S");
    }

    /** Nobody reads what it writes: its end says more than a pipe holds, and hangs with whoever would tell of that. */
    static final class Unread {

        public static void main(String[] arguments) {
            ProcessEnd.guard(() -> Duration.ofMillis(200));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.err.println("x".repeat(10 << 20))));
            waitForSignal();
        }
    }

    @Test
    void nor_does_it_wait_for_somebody_to_read_its_last_words() throws IOException, InterruptedException {
        ProcessBuilder builder = builder(Unread.class).redirectOutput(folder.resolve("output").toFile());
        assertThat(statusAfterSignal(builder.start())).isEqualTo(FAILED);
    }

    /** Throws what its argument says, in a thread that others rely on. */
    static final class Thrower {

        public static void main(String[] arguments) {
            ProcessEnd.guard(() -> Duration.ofHours(1));
            Thread.Builder thread = arguments[0].equals("virtual") ? Thread.ofVirtual() : Thread.ofPlatform();
            thread.name("follower").start(() -> {
                if (arguments[1].equals("error")) {
                    throw new LinkageError("spoilt");
                }
                throw new IllegalStateException("spoilt");
            });
            waitForSignal();
        }
    }

    @Test
    void an_error_that_nobody_catches_ends_the_process_whatever_kind_of_thread_it_was()
            throws IOException, InterruptedException {
        for (String kind : List.of("virtual", "platform")) {
            assertThat(status(start(Thrower.class, List.of(), kind, "error"))).isEqualTo(FAILED);
            assertThat(output()).contains("nobody caught this in thread follower, the process ends", "spoilt");
        }
    }

    @Test
    void an_exception_that_nobody_catches_is_told_and_ends_nothing() throws IOException, InterruptedException {
        Process process = start(Thrower.class, List.of(), "platform", "exception");
        while (process.isAlive() && !output().contains("nobody caught this in thread follower")) {
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
        process.toHandle().destroy();                              // Process.destroy would close its pipes, too
        assertThat(status(process)).isEqualTo(ORDERLY);
    }

    /** Keeps all that it can get, in a thread that is not the main one, which would go on. */
    static final class Hoarder {

        public static void main(String[] arguments) {
            ProcessEnd.guard(() -> Duration.ofHours(1));
            ProcessEnd.warnUnlessMemoryEndsIt();
            Thread.ofPlatform().name("hoarder").start(() -> {
                List<byte[]> kept = new ArrayList<>();
                while (true) {
                    kept.add(new byte[1 << 20]);
                }
            });
            waitForSignal();
        }
    }

    @Test
    void running_out_of_memory_is_an_end_with_the_flag_and_without_it_there_is_a_warning()
            throws IOException, InterruptedException {
        assertThat(status(start(Hoarder.class, List.of("-Xmx32m", "-XX:+ExitOnOutOfMemoryError"))))
                .isEqualTo(OUT_OF_MEMORY);
        assertThat(output()).doesNotContain("this process runs without");
        assertThat(status(start(Hoarder.class, List.of("-Xmx32m")))).isEqualTo(FAILED);
        assertThat(output()).contains("this process runs without -XX:+ExitOnOutOfMemoryError");
    }

    @Test
    void a_loop_goes_on_after_anything_but_the_end_of_memory_and_a_broken_machine() {
        assertThat(List.of(new OutOfMemoryError(), new InternalError())).allMatch(ProcessEnd::isFatal);
        assertThat(List.of(new StackOverflowError(), new LinkageError(), new AssertionError(), new RuntimeException()))
                .noneMatch(ProcessEnd::isFatal);
    }

    private int statusAfterSignal(Process process) throws IOException, InterruptedException {
        while (process.isAlive() && !output().contains("waiting")) {
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
        process.toHandle().destroy();                              // Process.destroy would close its pipes, too
        return status(process);
    }

    private Process start(Class<?> main, List<String> flags, String... arguments) throws IOException {
        Files.deleteIfExists(folder.resolve("output"));
        ProcessBuilder builder = builder(main).redirectErrorStream(true).redirectOutput(folder.resolve("output").toFile());
        builder.command().addAll(1, flags);
        builder.command().addAll(List.of(arguments));
        return builder.start();
    }

    private static ProcessBuilder builder(Class<?> main) {
        return new ProcessBuilder(new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), main.getName())));
    }

    private static int status(Process process) throws InterruptedException {
        try {
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).as("ended by itself").isTrue();
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private String output() throws IOException {
        Path output = folder.resolve("output");
        return Files.exists(output) ? Files.readString(output) : "";
    }

    private static void waitForSignal() {
        System.out.println("waiting");
        hang();
    }

    private static void hang() {
        while (true) {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                // that is what it takes to hang
            }
        }
    }
}
