package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringApplicationRunListener;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.http.HttpResources;

/** Whole routers in processes of their own, and how they end. */
class RouterEndTest {

    private static final int ORDERLY = 143;                        // SIGTERM's
    private static final int FAILED = 1;

    @TempDir
    Path folder;

    static final class Usual {

        public static void main(String[] arguments) {
            RouterApplication.main(arguments);
        }
    }

    @Test
    void a_redis_that_accepts_and_never_answers_holds_up_no_end() throws IOException, InterruptedException {
        try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Process router = start(Usual.class, "--warmpath.redis.uri=redis://127.0.0.1:" + silent.getLocalPort());
            assertThat(statusAfterSignal(router, "events are not read from Redis")).isEqualTo(ORDERLY);
            assertThat(output()).as("loops end in good order").doesNotContain("has died");
        }
    }

    /** One of its event loops never comes back, and closing waits for all of them. */
    static final class WithStuckLoop {

        public static void main(String[] arguments) {
            RouterApplication.main(arguments);
            HttpResources.get().onServer(true).next().execute(WithStuckLoop::hang);
            System.out.println("stuck");
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

    @Test
    void a_stuck_event_loop_is_cut_off_at_the_deadline() throws IOException, InterruptedException {
        Process router = start(WithStuckLoop.class, "--warmpath.shutdown.deadline=500ms");
        assertThat(statusAfterSignal(router, "stuck")).isEqualTo(FAILED);
        assertThat(output()).contains("has not come to its end in PT0.5S, it is halted");
    }

    /** One of its event loops ends alone. */
    static final class WithDeadLoop {

        public static void main(String[] arguments) {
            RouterApplication.main(arguments);
            HttpResources.get().onServer(true).next().shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void a_dead_event_loop_ends_the_process() throws IOException, InterruptedException {
        assertThat(status(start(WithDeadLoop.class))).isEqualTo(FAILED);
        assertThat(output()).contains("an event loop of the HTTP server has died");
    }

    /** The management port's only event loop ends. */
    static final class WithDeadControlLoop {

        public static void main(String[] arguments) {
            List<EventExecutor> loops = new CopyOnWriteArrayList<>();
            SpringApplication.withHook(_ -> new SpringApplicationRunListener() {
                @Override
                public void contextPrepared(ConfigurableApplicationContext context) {
                    context.addApplicationListener(new ControlLoops(loops));
                }
            }, () -> RouterApplication.main(arguments));
            loops.getFirst().shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    private record ControlLoops(List<EventExecutor> loops) implements ApplicationListener<WebServerInitializedEvent> {
        @Override
        public void onApplicationEvent(WebServerInitializedEvent opened) {
            if ("management".equals(opened.getApplicationContext().getServerNamespace())) {
                loops.add(opened.getApplicationContext().getBean(ReactorResourceFactory.class).getLoopResources()
                        .onServer(true).next());
            }
        }
    }

    @Test
    void a_dead_event_loop_of_the_management_port_ends_the_process() throws IOException, InterruptedException {
        assertThat(status(start(WithDeadControlLoop.class))).isEqualTo(FAILED);
        assertThat(output()).contains("an event loop of the HTTP server has died");
    }

    private int statusAfterSignal(Process process, String sentence) throws IOException, InterruptedException {
        while (process.isAlive() && !(output().contains("Started ") && output().contains(sentence))) {
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
        }
        process.destroy();
        return status(process);
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
                "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED", "-cp",
                System.getProperty("java.class.path"), main.getName(), "--server.port=0",
                "--management.server.port=0", "--warmpath.drain.settle=0s"));
        command.addAll(List.of(settings));
        return new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile()).start();
    }

    private String output() throws IOException {
        Path output = folder.resolve("output");
        return Files.exists(output) ? Files.readString(output) : "";
    }
}
