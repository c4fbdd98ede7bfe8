package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole worker in a process of its own, and how it ends. */
class WorkerEndTest {

    private static final int ORDERLY = 143;                        // SIGTERM's

    @TempDir
    Path folder;

    @Test
    void neither_a_redis_nor_a_router_that_accepts_and_never_answers_holds_up_an_end()
            throws IOException, InterruptedException {
        try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Path log = folder.resolve("log");
            int port = silent.getLocalPort();
            Process worker = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+UseSerialGC", "--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
                    "-cp", System.getProperty("java.class.path"), WorkerApplication.class.getName(), "--server.port=0",
                    "--management.server.port=0", "--warmpath.worker.id=w",
                    "--warmpath.worker.base-url=http://127.0.0.1:1",
                    "--warmpath.model.directory=../models/warmpath-tiny", "--warmpath.compute.backend=vector",
                    "--warmpath.compute.threads=1", "--warmpath.compute.warm-up=0s", "--warmpath.kv.memory=16MB",
                    "--warmpath.redis.uri=redis://127.0.0.1:" + port,
                    "--warmpath.routerlink.urls=http://127.0.0.1:" + port)
                    .redirectErrorStream(true).redirectOutput(log.toFile()).start();
            try {
                while (worker.isAlive() && !Files.readString(log).contains("cannot be used, trying again")) {
                    LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
                }
                worker.destroy();
                assertThat(worker.waitFor(10, TimeUnit.MINUTES)).as("ended by itself").isTrue();
                assertThat(worker.exitValue()).isEqualTo(ORDERLY);
            } finally {
                worker.destroyForcibly();
            }
        }
    }
}
