package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class EngineDeathTest {

    /** A process whose shutdown never comes to its end, as with a call that a lost device does not answer. */
    static final class Stuck {

        public static void main(String[] arguments) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                while (true) {
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException ignored) {
                        Thread.currentThread().interrupt();
                    }
                }
            }));
            new EngineDeath(Duration.ofMillis(200)).accept(new IllegalStateException("books are wrong"));
        }
    }

    @Test
    void a_shutdown_that_hangs_is_halted_after_the_grace_with_status_1() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), Stuck.class.getName())
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("ended by itself").isTrue();
            assertThat(process.exitValue()).isEqualTo(1);
        } finally {
            process.destroyForcibly();
        }
    }
}
