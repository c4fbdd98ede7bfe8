package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.GenerationListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import reactor.netty.http.HttpResources;

/** Whole workers in processes of their own, and how they end. */
class WorkerEndTest {

    private static final int ORDERLY = 143;                        // SIGTERM's
    private static final int FAILED = 1;

    @TempDir
    Path folder;

    @Test
    void neither_a_redis_nor_a_router_that_accepts_and_never_answers_holds_up_an_end()
            throws IOException, InterruptedException {
        try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            int port = silent.getLocalPort();
            Process worker = start(WorkerApplication.class, "--warmpath.redis.uri=redis://127.0.0.1:" + port,
                    "--warmpath.redis.connect-timeout=100ms", "--warmpath.redis.command-timeout=100ms",
                    "--warmpath.routerlink.urls=http://127.0.0.1:" + port);
            while (worker.isAlive() && !output().contains("cannot be used, trying again")) {
                LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
            }
            worker.destroy();
            assertThat(status(worker)).isEqualTo(ORDERLY);
            assertThat(output()).as("loops end in good order").doesNotContain("has died");
        }
    }

    /** One of its event loops ends alone; both ports share them. */
    static final class WithDeadLoop {

        public static void main(String[] arguments) {
            WorkerApplication.main(arguments);
            HttpResources.get().onServer(true).next().shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void a_dead_event_loop_ends_the_process() throws IOException, InterruptedException {
        assertThat(status(start(WithDeadLoop.class))).isEqualTo(FAILED);
        assertThat(output()).contains("an event loop of the HTTP server has died");
    }

    /** A step that never comes to its end, since whoever hears of its token does not. */
    static final class WithHangingStep {

        public static void main(String[] arguments) {
            var worker = SpringApplication.run(WorkerApplication.class, arguments);
            worker.getBean(Engine.class).submit(GenerateRequest.of("r", new int[] {1, 2, 3}, SamplingParameters.GREEDY,
                    StopConditions.pastTheEnd(2)), new GenerationListener() {

                        @Override
                        public void onToken(int token, float logprob) {
                            while (true) {
                                LockSupport.park(this);
                            }
                        }

                        @Override
                        public void onFinished(FinishReason reason, GenerateEvent.Usage usage) {}

                        @Override
                        public void onFailed(FailureReason reason, String message) {}
                    });
        }
    }

    @Test
    @Tag("full")
    void a_step_that_hangs_ends_the_process() throws IOException, InterruptedException {
        assertThat(status(start(WithHangingStep.class, "--warmpath.compute.longest-step=1s"))).isEqualTo(FAILED);
        assertThat(output()).contains("a step takes longer than the PT1S that it may: nothing new is taken")
                .containsPattern("a step has been running for \\d+ ms, of 1000 ms that it may");
    }

    private static int status(Process process) throws InterruptedException {
        try {
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).as("ended by itself").isTrue();
            return process.exitValue();
        } finally {
            process.destroyForcibly();
        }
    }

    private Process start(Class<?> main, String... settings) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "--add-modules", "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), main.getName(),
                "--server.port=0", "--management.server.port=0", "--warmpath.worker.id=w",
                "--warmpath.worker.base-url=http://127.0.0.1:1", "--warmpath.model.directory=../models/warmpath-tiny",
                "--warmpath.compute.backend=scalar", "--warmpath.compute.threads=1", "--warmpath.compute.warm-up=0s",
                "--warmpath.kv.memory=16MB"));
        command.addAll(List.of(settings));
        return new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile()).start();
    }

    private String output() throws IOException {
        Path output = folder.resolve("output");
        return Files.exists(output) ? Files.readString(output) : "";
    }
}
