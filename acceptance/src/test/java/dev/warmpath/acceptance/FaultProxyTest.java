package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the other tests' faults look like to a client of a real Redis. */
class FaultProxyTest {

    private static final RedisProcess REDIS = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort());

    private final FaultProxy proxy = new FaultProxy(REDIS.port());
    private RedisConnection connection;

    @BeforeAll
    static void startRedis() {
        REDIS.start();
    }

    @AfterAll
    static void stopRedis() {
        REDIS.close();
    }

    @BeforeEach
    void connect() throws IOException {
        connection = new RedisConnection(proxy.port());
        assertThat(connection.ask("PING")).isEqualTo("+PONG");
    }

    @AfterEach
    void close() throws IOException {
        connection.close();
        proxy.close();
    }

    @Test
    void a_delay_counts_both_ways_and_lets_many_answers_be_under_way_together() throws IOException {
        proxy.delay(Duration.ofMillis(100));

        Duration took = timeTwentyPings();
        assertThat(took).isGreaterThanOrEqualTo(Duration.ofMillis(200));
        while (took.compareTo(Duration.ofSeconds(2)) >= 0) {       // one after the other they take 4 s, each time
            took = timeTwentyPings();
        }
    }

    private Duration timeTwentyPings() throws IOException {
        long askedNanos = System.nanoTime();
        for (int i = 0; i < 20; i++) {
            connection.send("PING");
            pause(Duration.ofMillis(1));                   // chunks of their own
        }
        for (int i = 0; i < 20; i++) {
            assertThat(connection.readLine()).isEqualTo("+PONG");
        }
        return Duration.ofNanos(System.nanoTime() - askedNanos);
    }

    @Test
    void a_half_open_connection_is_silent_until_it_heals() throws Exception {
        proxy.halfOpen();
        CompletableFuture<String> answer = CompletableFuture.supplyAsync(() -> {
            try {
                return connection.ask("PING");
            } catch (IOException e) {
                return e.toString();
            }
        });
        pause(Duration.ofMillis(200));
        assertThat(answer).isNotDone();

        proxy.heal();
        assertThat(answer.get()).isEqualTo("+PONG");
    }

    @Test
    void a_reset_ends_the_connections_that_there_are_and_serves_new_ones() throws IOException {
        proxy.reset();

        assertThatThrownBy(() -> connection.ask("PING")).isInstanceOf(SocketException.class);
        try (var another = new RedisConnection(proxy.port())) {
            assertThat(another.ask("PING")).isEqualTo("+PONG");
        }
    }

    @Test
    void a_cut_line_ends_and_refuses_until_it_heals() throws IOException {
        proxy.cut();
        assertThatThrownBy(() -> connection.readLine()).isInstanceOf(EOFException.class);
        assertThatThrownBy(() -> new RedisConnection(proxy.port())).isInstanceOf(ConnectException.class);

        proxy.heal();
        try (var another = new RedisConnection(proxy.port())) {
            assertThat(another.ask("PING")).isEqualTo("+PONG");
        }
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
