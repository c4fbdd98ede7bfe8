package dev.warmpath.router.keys;

import dev.warmpath.router.RunningRouter;
import io.github.bucket4j.TimeMeter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** A router that asks for keys, whose limits follow a clock that stands unless the test moves it. */
@Import(KeyedRouter.Time.class)
abstract class KeyedRouter extends RunningRouter {

    static final String TEAM = "wp-team-SECRET";
    static final String OPERATOR = "wp-operator-SECRET";
    static final String KEYS = line("team", TEAM, "") + line("ops", OPERATOR, "operator");
    static final String TEXT = "{'model':'tiny','prompt':[10,11,12],'max_tokens':4}";
    static final AtomicLong MILLIS = new AtomicLong();
    private static final AtomicLong CHANGES = new AtomicLong();

    private static final Path FILE = write(newFile(), KEYS);

    @DynamicPropertySource
    static void keys(DynamicPropertyRegistry settings) {
        settings.add("warmpath.api-keys.file", FILE::toString);
    }

    @TestConfiguration
    static class Time {
        @Bean
        @Primary
        TimeMeter standingTime() {
            return new TimeMeter() {
                @Override
                public long currentTimeNanos() {
                    return TimeUnit.MILLISECONDS.toNanos(MILLIS.get());
                }

                @Override
                public boolean isWallClockBased() {
                    return false;
                }
            };
        }
    }

    static String line(String name, String key, String rights) {
        return name + " " + KeyHash.of(key) + " " + rights + "\n";
    }

    /** Waits until they count. */
    void accept(String lines) {
        String probe = "wp-probe-" + CHANGES.incrementAndGet();
        write(FILE, lines + line("probe", probe, ""));
        eventually(() -> get("/v1/models", probe).statusCode() == 200);
    }

    static void replaceFile(String text) {
        write(FILE, text);
    }

    private static Path newFile() {
        try {
            Path directory = Files.createTempDirectory("keys");
            directory.toFile().deleteOnExit();
            Path made = directory.resolve("keys");
            made.toFile().deleteOnExit();
            return made;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path write(Path to, String text) {
        try {
            return Files.writeString(to, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    HttpResponse<String> get(String path, String key) {
        return send(HttpRequest.newBuilder(uri(path)).timeout(Duration.ofMinutes(10))
                .header("authorization", "Bearer " + key).build());
    }

    HttpRequest request(String path, String key, String body) {
        return HttpRequest.newBuilder(request(path, body), (_, _) -> true)
                .header("authorization", "Bearer " + key).build();
    }

    HttpResponse<String> post(String path, String key, String body) {
        return send(request(path, key, body));
    }

    /** All that comes for this text, which asks for the connection's end; sent as UTF-8, whatever headers may be. */
    String raw(String request) {
        try (var socket = new Socket("127.0.0.1", uri("/").getPort())) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
