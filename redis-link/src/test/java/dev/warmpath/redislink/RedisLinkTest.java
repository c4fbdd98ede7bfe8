package dev.warmpath.redislink;

import static dev.warmpath.redislink.TestRedis.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class RedisLinkTest {

    /** Longer than a hasty link's commands may take. */
    static final Duration BLOCK = Duration.ofMillis(1_300);
    static final Duration SHORT = Duration.ofSeconds(1);
    /** The longest that there may be: nothing is given up because the machine is held up. */
    static final Duration LONG = Duration.ofSeconds(30);

    @Test
    void a_server_that_is_absent_at_the_start_is_found_when_it_appears() {
        try (TestRedis redis = TestRedis.absent(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            await("a first try", () -> String.valueOf(link.problem()).contains("Connection refused"));
            assertThat(link.isConnected()).isFalse();
            assertThat(link.problem()).startsWith("Redis at 127.0.0.1:" + redis.port() + " cannot be used");
            assertThatThrownBy(link::commands).isInstanceOf(RedisException.class);
            assertThatThrownBy(() -> link.openReads(SHORT)).isInstanceOf(RedisException.class).hasMessageMatching(
                    "no Redis answers at 127.0.0.1:" + redis.port() + " \\(Connection refused.*\\)");

            redis.start();
            await("connected", link::isConnected);
            assertThat(link.problem()).isNull();
            assertThat(link.commands().set("a", bytes("1"))).isEqualTo("OK");
        }
    }

    @Test
    void while_disconnected_a_command_is_refused_at_once_and_never_sent_later(CapturedOutput output) {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            await("connected", link::isConnected);
            redis.stop();
            await("disconnected", () -> !link.isConnected());
            assertThat(link.problem()).isEqualTo("the connection to 127.0.0.1:" + redis.port() + " is lost");
            assertThatThrownBy(() -> link.commands().incr("a")).isInstanceOf(RedisException.class)
                    .isNotInstanceOf(RedisCommandTimeoutException.class);

            redis.start();
            await("connected again", link::isConnected);
            assertThat(link.commands().incr("b")).isOne();
            assertThat(redis.commands().exists("a")).isZero();
            assertThat(output).containsOnlyOnce("127.0.0.1:" + redis.port() + " is lost")
                    .containsOnlyOnce("127.0.0.1:" + redis.port() + " is there again");
        }
    }

    @Test
    void a_command_under_way_when_the_connection_breaks_is_not_sent_again() {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            await("connected", link::isConnected);
            redis.freeze();
            RedisFuture<Long> underWay = link.async().incr("a");
            redis.kill();
            redis.start();
            await("connected again", () -> link.isConnected() && underWay.isDone());

            assertThatThrownBy(() -> underWay.get()).isInstanceOf(ExecutionException.class);
            assertThat(link.commands().incr("b")).isOne();
            assertThat(redis.commands().exists("a")).isZero();
        }
    }

    @Test
    void a_server_that_does_not_answer_is_given_up_after_the_command_timeout() {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(hasty(redis.uri()))) {
            await("connected", link::isConnected);
            redis.freeze();
            assertThatThrownBy(() -> link.commands().get("a")).isInstanceOf(RedisCommandTimeoutException.class);
            // the connection looks open and would stay so for minutes, if the server were cut off
            assertThat(link.isConnected()).isTrue();

            link.reconnect();
            assertThat(link.isConnected()).isFalse();
            assertThatThrownBy(link::commands).isInstanceOf(RedisException.class);
            redis.thaw();
            await("answering again", () -> answers(link));
        }
    }

    @Test
    void a_reconnect_by_own_wish_that_works_is_no_news(CapturedOutput output) {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            await("connected", link::isConnected);
            for (int i = 0; i < 3; i++) {
                link.reconnect();
                await("connected again", link::isConnected);
            }
            assertThat(output).containsOnlyOnce("connected to Redis at 127.0.0.1:" + redis.port());
        }
    }

    @Test
    void however_often_several_give_the_connection_up_one_comes_of_it() throws InterruptedException {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            List<Thread> hasty = IntStream.range(0, 8).mapToObj(_ -> Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 25; i++) {
                    await("connected", link::isConnected);
                    link.reconnect();
                }
            })).toList();
            for (Thread each : hasty) {
                each.join();
            }
            await("one connection, and it works", () -> connections(redis) == 1 && answers(link));
        }
    }

    @Test
    void an_error_while_connecting_costs_a_pause_and_leaves_no_connection_behind() {
        var failures = new AtomicInteger();
        var appender = new UnsynchronizedAppenderBase<ILoggingEvent>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (event.getMessage().startsWith("connected to Redis at") && failures.getAndIncrement() < 3) {
                    throw new StackOverflowError("too deep");
                }
            }
        };
        var logger = (Logger) LoggerFactory.getLogger(RedisLink.class);
        appender.setContext(logger.getLoggerContext());
        appender.start();
        logger.addAppender(appender);
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(patient(redis.uri()))) {
            await("one connection, and it works", () -> connections(redis) == 1 && answers(link));

            assertThat(failures).hasValue(4);
        } finally {
            logger.detachAppender(appender);
        }
    }

    /** Of everybody but the test itself. */
    private static long connections(TestRedis redis) {
        return redis.commands().clientList().lines().count() - 1;
    }

    @Test
    void a_blocking_read_waits_on_a_connection_of_its_own() {
        try (TestRedis redis = TestRedis.started(); RedisLink link = RedisLink.open(hasty(redis.uri()))) {
            await("connected", link::isConnected);
            try (BlockingReads reads = patiently(() -> link.openReads(BLOCK))) {
                assertThat(patiently(() -> read(reads, "s"))).isEmpty();
                redis.commands().xadd("s", Map.of("b", bytes("x")));
                assertThat(patiently(() -> read(reads, "s"))).hasSize(1);
            }
        }
    }

    @Test
    void a_wrong_password_is_told_once_and_no_secret_with_it(CapturedOutput output) {
        try (TestRedis redis = TestRedis.started("user anna on >right ~warmpath:* +@connection +get +set")) {
            try (RedisLink link = RedisLink.open(as("anna", "wrong-hush", redis.uri()))) {
                await("refused", () -> String.valueOf(link.problem()).contains("WRONGPASS"));
                TestRedis.sleep(300);                                       // one more try at least
                assertThat(link.problem()).contains("invalid username-password pair").doesNotContain("wrong-hush");
            }
            assertThat(output).containsOnlyOnce("WRONGPASS").doesNotContain("wrong-hush");

            try (RedisLink link = RedisLink.open(as("anna", "right", redis.uri()))) {
                await("connected", link::isConnected);
                assertThat(link.commands().set("warmpath:a", bytes("1"))).isEqualTo("OK");
                assertThatThrownBy(() -> link.commands().set("other:a", bytes("1"))).hasMessageContaining("NOPERM");
            }
        }
    }

    @Test
    void a_server_that_repeats_what_it_is_told_brings_no_password_into_logs_and_health(CapturedOutput output)
            throws IOException {
        String answer = "-ERR what is '%s'? " + "x".repeat(1_000) + "\r\n";
        try (var proxy = new LyingRedis((command, out) ->
                out.write(bytes(answer.formatted(String.join("' '", command)))));
                RedisLink link = RedisLink.open(as("anna", "hu$h", proxy.uri()));
                RedisLink byUri = RedisLink.open(patient(proxy.uri().replace("//", "//anna:hu%24h@")))) {
            await("refused", () -> String.valueOf(link.problem()).contains("what is"));
            await("refused", () -> String.valueOf(byUri.problem()).contains("what is"));
            assertThat(link.problem()).contains("anna' '…'").doesNotContain("hu$h").hasSizeLessThan(400);
            assertThatThrownBy(() -> link.openReads(SHORT)).message().contains("anna' '…'").doesNotContain("hu$h");
            assertThat(byUri.problem()).contains("anna' '…'").doesNotContain("hu$h");
            assertThat(output).contains("anna' '…'").doesNotContain("hu$h");
        }
    }

    @Test
    void an_answer_that_there_is_no_room_for_is_not_read_to_its_end() throws Exception {
        long claimed = 512 << 20;                                           // the most that Redis keeps as one value
        BlockingQueue<Long> written = new LinkedBlockingQueue<>();
        try (var liar = new LyingRedis((command, out) -> {
            if (command.getFirst().equals("GET")) {
                written.add(flood(out, claimed));
            } else {
                out.write(bytes(command.getFirst().equals("PING") ? "+PONG\r\n" : "-ERR unknown command\r\n"));
            }
        }); RedisLink link = RedisLink.open(patient(liar.uri()), /* maxAnswerBytes */ 4 << 20)) {
            await("connected", link::isConnected);
            assertThatThrownBy(() -> link.commands().get("a")).isInstanceOf(RedisException.class)
                    .hasMessageContaining("more than 4194304 bytes have come in answer to one command");
            assertThat(written.take()).as("with all that lies in the sockets").isLessThan(64 << 20);
            await("connected again", link::isConnected);
        }
    }

    /** Each of two characters, with its length before it: 8 bytes on their way, and ten times as many on the heap. */
    @Test
    void an_answer_of_many_short_elements_counts_for_what_they_take() throws Exception {
        try (var liar = new LyingRedis((command, out) -> out.write(bytes(switch (command.getFirst()) {
            case "HGETALL" -> "*" + command.get(1) + "\r\n" + "$2\r\nab\r\n".repeat(Integer.parseInt(command.get(1)));
            case "PING" -> "+PONG\r\n";
            default -> "-ERR unknown command\r\n";
        }))); RedisLink link = RedisLink.open(patient(liar.uri()), /* maxAnswerBytes */ 4 << 20)) {
            await("connected", link::isConnected);
            assertThat(link.commands().hgetall("20000")).hasSize(1);
            assertThatThrownBy(() -> link.commands().hgetall("40000")).isInstanceOf(RedisException.class)
                    .hasMessageContaining("more than 4194304 bytes have come in answer to one command");
        }
    }

    @Test
    void a_message_is_one_line_of_bounded_length() {
        try (RedisLink link = RedisLink.forReads(as("anna", "hu$h", "redis://127.0.0.1:1"))) {
            var refused = new RedisException("-ERR hu$h\r\nERROR all is lost " + "x".repeat(1 << 20));
            assertThat(link.messageOf(refused)).startsWith("-ERR … ERROR all is lost xxx").hasSize(301).endsWith("…");
        }
    }

    /** @return bytes that were taken until somebody hung up */
    private static long flood(OutputStream out, long claimed) throws IOException {
        out.write(bytes("$" + claimed + "\r\n"));
        byte[] piece = new byte[1 << 16];
        long written = 0;
        try {
            for (; written < claimed; written += piece.length) {
                out.write(piece);
            }
        } catch (IOException e) {
            // so it is
        }
        return written;
    }

    @Test
    void closing_does_not_wait_for_a_server_that_never_came() {
        RedisLink link = RedisLink.open(patient(TestRedis.absent().uri()));
        await("a first try", () -> String.valueOf(link.problem()).contains("Connection refused"));
        link.close();
        assertThat(link.problem()).isEqualTo("closed");
    }

    @Test
    void closing_does_not_wait_for_a_server_that_accepts_and_never_answers() throws IOException {
        try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            RedisLink link = RedisLink.open(hasty("redis://127.0.0.1:" + silent.getLocalPort()));
            await("a first try", () -> String.valueOf(link.problem()).contains("cannot be used"));
            link.close();
            assertThat(link.problem()).isEqualTo("closed");
        }
    }

    @Test
    void closing_does_not_wait_for_a_thread_of_the_library_that_never_comes_back(CapturedOutput output) {
        var never = new CountDownLatch(1);
        try (TestRedis redis = TestRedis.started()) {
            RedisLink link = RedisLink.open(hasty(redis.uri()));
            await("connected", link::isConnected);
            var hangs = new CountDownLatch(1);
            Thread test = Thread.currentThread();
            await("a callback on the event loop, which owns the connection", () -> {
                link.async().get("a").thenRun(() -> {
                    if (Thread.currentThread() != test) {                   // here if the answer is there already
                        hangs.countDown();
                        awaitQuietly(never);
                    }
                });
                return hangs.getCount() == 0;
            });

            link.close();
            assertThat(link.problem()).isEqualTo("closed");
            assertThat(output).contains("could not be closed");
        } finally {
            never.countDown();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A machine that is held up may need more than one try with so short a timeout; what is wrong fails each time. */
    static <T> T patiently(Supplier<T> work) {
        for (int i = 0; i < 20; i++) {
            try {
                return work.get();
            } catch (RedisException e) {
                // again
            }
        }
        return work.get();
    }

    private static boolean answers(RedisLink link) {
        try {
            return link.commands().exists("a") == 0;
        } catch (RedisException e) {
            return false;
        }
    }

    @SuppressWarnings("unchecked")                                          // an array of a generic type, by Lettuce
    private static List<StreamMessage<String, byte[]>> read(BlockingReads reads, String stream) {
        return reads.commands().xread(XReadArgs.Builder.block(BLOCK), XReadArgs.StreamOffset.from(stream, "0-0"));
    }

    /** A command that is not answered is given up soon. */
    private static RedisProperties hasty(String uri) {
        return new RedisProperties(uri, false, null, null, null, SHORT, SHORT, 10_000, 8);
    }

    private static RedisProperties as(String username, String password, String uri) {
        return new RedisProperties(uri, false, username, password, null, LONG, LONG, 10_000, 8);
    }

    /** A command that waits at all would wait for long. */
    private static RedisProperties patient(String uri) {
        return new RedisProperties(uri, false, null, null, null, LONG, LONG, 10_000, 8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
