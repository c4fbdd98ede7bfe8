package dev.warmpath.acceptance;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.embedded.core.ExecutableProvider;

/**
 * A {@code redis-server} as a process of its own, on loopback, that keeps nothing on disk: what it held is gone when it
 * is started again. Unlike embedded-redis's own servers it can be killed, paused and started again on its port.
 */
final class RedisProcess implements AutoCloseable {

    private static final Path HOME = Path.of("target", "redis").toAbsolutePath();
    private static @Nullable Path bundled;

    private final Path binary;
    private final int port;
    private final List<String> arguments;
    private @Nullable Process process;

    /** Not started yet. @param arguments as on the command line, after those for port and persistence */
    RedisProcess(Path binary, int port, String... arguments) {
        this.binary = binary;
        this.port = port;
        this.arguments = List.of(arguments);
    }

    /** Redis 6.2, the oldest that is supported: embedded-redis brings it along. */
    static synchronized Path bundled() {
        if (bundled == null) {
            try {
                File folder = Files.createDirectories(HOME).toFile();
                bundled = ExecutableProvider.newJarResourceProvider(folder).get().toPath();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return bundled;
    }

    /** The system's {@code redis-server}, whichever version that is; the bundled one if there is none. */
    static Path ofSystem() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .map(folder -> Path.of(folder, "redis-server"))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(RedisProcess::bundled);
    }

    /** @return this, when it answers */
    RedisProcess start() {
        List<String> command = new ArrayList<>(List.of(binary.toString()));
        command.addAll(arguments);
        command.addAll(List.of("--port", Integer.toString(port), "--bind", "127.0.0.1", "--dir", HOME.toString()));
        if (!arguments.contains("--sentinel")) {
            command.addAll(List.of("--save", "", "--appendonly", "no"));
        }
        try {
            Files.createDirectories(HOME);
            process = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(HOME.resolve(port + ".log").toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Await.until("Redis answers on port " + port, () -> isPong(port) || hasEnded());
        if (hasEnded()) {
            throw new IllegalStateException(command + " has ended; its log: " + HOME.resolve(port + ".log"));
        }
        return this;
    }

    private boolean hasEnded() {
        return process == null || !process.isAlive();
    }

    /** Ends it at once, as a crash would. */
    void kill() {
        if (process != null) {
            try {
                process.destroyForcibly().waitFor();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** It keeps its connections and answers nothing until {@link #resume()}. */
    void pause() {
        signal("STOP");
    }

    void resume() {
        signal("CONT");
    }

    int port() {
        return port;
    }

    String uri() {
        return "redis://127.0.0.1:" + port;
    }

    /** Sends one command over a connection of its own. @return the first line of the answer, sign included */
    String ask(String command) {
        try (var connection = new RedisConnection(port)) {
            return connection.ask(command);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        if (process != null && process.isAlive()) {
            resume();                                      // a paused process would not notice that it is to end
        }
        kill();
    }

    private void signal(String name) {
        if (process == null) {
            throw new IllegalStateException("Redis on port " + port + " has not been started");
        }
        try {
            new ProcessBuilder("kill", "-s", name, Long.toString(process.pid())).start().waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean isPong(int port) {
        try (var connection = new RedisConnection(port)) {
            return connection.ask("PING").equals("+PONG");
        } catch (IOException e) {
            return false;
        }
    }
}
