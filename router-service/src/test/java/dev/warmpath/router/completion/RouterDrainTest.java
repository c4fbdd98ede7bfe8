package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/**
 * A whole router whose parts are told to stop, in their order, while a stream goes on. Each test has a router of its own.
 */
class RouterDrainTest {

    private static final String STREAM = "{'model':'tiny','prompt':[10],'stream':true,'max_tokens':3}";
    private static final String WHOLE = "{'model':'tiny','prompt':[11],'max_tokens':1}";
    private static final String GONE = ErrorAnswer.object("this router is going away; another one takes this request",
            "service_unavailable_error", null, "router_is_stopping");

    private final AdmissionControl admission =
            new AdmissionControl(() -> 8, 1_000, new RouterMetrics(new SimpleMeterRegistry()), System::nanoTime);

    /** The process's end counts on it. A step waits for an event loop that stands still, and an answer never ends. */
    @Test
    void what_ends_settling_and_the_answers_have_one_timeout_together() {
        var drain = new RouterDrain(admission, new DrainProperties(Duration.ZERO, Duration.ofSeconds(1)));
        admission.enter(0);
        List<Duration> patience = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            drain.endSettlingWith(given -> {
                patience.add(given);
                Thread.sleep(given);
            });
        }
        long begin = System.nanoTime();
        drain.stop();

        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofSeconds(1), Duration.ofMillis(1_900));
        assertThat(patience.getFirst()).isBetween(Duration.ofMillis(500), Duration.ofSeconds(1));
        assertThat(patience.getLast()).isZero();
    }

    /** As an event loop does that has shut down. */
    @Test
    void a_step_that_fails_keeps_neither_the_next_one_nor_the_end_from_coming() {
        var drain = new RouterDrain(admission, new DrainProperties(Duration.ZERO, Duration.ofMillis(1)));
        admission.enter(0);
        var next = new CountDownLatch(1);
        drain.endSettlingWith(_ -> {
            throw new RejectedExecutionException("event executor terminated");
        });
        drain.endSettlingWith(_ -> next.countDown());
        drain.stop();

        assertThat(next.getCount()).isZero();
        assertThat(drain.isOverForNewRequests()).isTrue();
        assertThatExceptionOfType(DispatchException.class).as("streams are told").isThrownBy(
                () -> UntilCut.of(Flux.never(), drain, () -> { }).blockLast());
    }

    abstract static class StoppedRouter extends RunningRouter {

        @Autowired ConfigurableApplicationContext router;
        private final Sinks.Empty<Void> goOn = Sinks.empty();

        /** One token at once, the second when the test says so. */
        FakeWorker.Script interrupted() {
            return FakeWorker.pausingUntil(goOn.asMono(), 10, 11);
        }

        void goOn() {
            goOn.tryEmitEmpty();
        }

        /** A stream whose first event has come. */
        Socket openStream() throws IOException {
            Socket client = rawClient(STREAM);
            var seen = new StringBuilder();
            while (seen.indexOf("data: ") < 0) {
                seen.append((char) client.getInputStream().read());
            }
            return client;
        }

        /** To the end that its length names: what comes next is another one. */
        static void readAnswer(Socket client) throws IOException {
            var head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                head.append((char) client.getInputStream().read());
            }
            Matcher length = Pattern.compile("(?i)content-length: (\\d+)").matcher(head);
            assertThat(length.find()).as("%s", head).isTrue();
            client.getInputStream().readNBytes(Integer.parseInt(length.group(1)));
        }

        static String rest(Socket client) throws IOException {
            try (client) {
                return new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            }
        }

        Thread stop() {
            return Thread.ofPlatform().start(router::stop);
        }
    }

    @Nested
    @DirtiesContext
    @TestPropertySource(properties = {"warmpath.drain.settle=1h", "warmpath.drain.timeout=1h"})
    class WhileItSettles extends StoppedRouter {
        @Test
        void it_goes_on_answering_and_asks_for_the_end_of_each_connection() throws Exception {
            join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
            assertThat(post("/v1/completions", WHOLE).headers().firstValue("connection")).isEmpty();

            Thread stopping = stop();
            assertThat(management("/actuator/health/liveness").statusCode()).isEqualTo(200);
            eventually(() -> post("/v1/completions", WHOLE).headers().firstValue("connection").isPresent());
            HttpResponse<String> late = post("/v1/completions", WHOLE);

            assertThat(late.statusCode()).isEqualTo(200);
            assertThat(late.headers().firstValue("connection")).hasValue("close");
            assertThat(get("/health").statusCode()).isEqualTo(503);
            stopping.interrupt();
            stopping.join();
        }
    }

    @Nested
    @DirtiesContext
    @TestPropertySource(properties = "warmpath.drain.timeout=1h")
    class WhileItFinishes extends StoppedRouter {
        @ErrorRow("503 router_is_stopping")
        @Test
        void a_stream_goes_on_to_its_end_and_new_requests_are_refused() throws Exception {
            join("w").doing(interrupted());
            Socket stream = openStream();

            Thread stopping = stop();
            eventually(() -> post("/v1/completions", "{}").statusCode() == 503);
            HttpResponse<String> late = post("/v1/completions", WHOLE);
            assertThat(ErrorAnswer.of(late)).isEqualTo(
                    ErrorAnswer.of(503, GONE, "retry-after: 1", "connection: close"));
            assertThat(management("/actuator/workers").statusCode()).isEqualTo(200);

            goOn();
            assertThat(events(rest(stream)).getLast()).isEqualTo("[DONE]");
            stopping.join();
        }
    }

    @Nested
    @DirtiesContext
    @TestPropertySource(properties = "warmpath.drain.timeout=1h")
    class WhenItHasSettled extends StoppedRouter {
        @Test
        void a_connection_that_is_kept_for_later_ends_while_a_stream_goes_on() throws Exception {
            FakeWorker worker = join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
            Socket kept = rawClient(WHOLE);
            while (kept.getInputStream().available() == 0) {
                Thread.onSpinWait();
            }
            worker.doing(interrupted());
            Socket stream = openStream();

            Thread stopping = stop();
            assertThat(rest(kept)).startsWith("HTTP/1.1 200 OK").doesNotContain("router_is_stopping");
            goOn();
            assertThat(events(rest(stream)).getLast()).isEqualTo("[DONE]");
            stopping.join();
        }
    }

    @Nested
    @DirtiesContext
    @TestPropertySource(properties = {
        "warmpath.drain.settle=0s",                              // what the thread that stops waits for are the loops
        "warmpath.drain.timeout=1h",
        "warmpath.admission.max-in-flight=200",
    })
    class WhenItHadNotItsTurn extends StoppedRouter {

        @TestConfiguration(proxyBeanMethods = false)
        static class HeldUpLoops {

            @Bean
            CompletableFuture<EventLoopGroup> eventLoops() {
                return new CompletableFuture<>();
            }

            @Bean
            WebServerFactoryCustomizer<NettyReactiveWebServerFactory> toldOfLoops(
                    CompletableFuture<EventLoopGroup> eventLoops) {
                return factory -> factory.addServerCustomizers(server ->
                        server.doOnBound(bound -> eventLoops.complete(bound.channel().eventLoop().parent())));
            }
        }

        @Autowired CompletableFuture<EventLoopGroup> eventLoops;

        @Test
        void what_came_meanwhile_on_connections_old_and_new_is_read_and_answered() throws Exception {
            join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
            List<Socket> kept = List.of(rawClient(WHOLE), rawClient(WHOLE), rawClient(WHOLE));
            for (Socket each : kept) {
                readAnswer(each);
            }
            var turn = new CountDownLatch(1);
            for (EventExecutor loop : eventLoops.get()) {
                var isHeld = new CountDownLatch(1);
                loop.submit(() -> {
                    isHeld.countDown();
                    turn.await();
                    return null;
                });
                isHeld.await();
            }
            for (Socket each : kept) {
                each.getOutputStream().write(rawRequest(WHOLE));
            }
            List<Socket> late = new ArrayList<>();
            for (int i = 0; i < 100; i++) {                      // a turn of a loop accepts 16
                late.add(rawClient(WHOLE));
            }

            Thread stopping = stop();
            while (stopping.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            turn.countDown();

            for (Socket each : kept) {
                assertThat(rest(each)).startsWith("HTTP/1.1 200 OK");
            }
            for (Socket each : late) {
                assertThat(rest(each)).startsWith("HTTP/1.1 200 OK");
            }
            stopping.join();
        }
    }

    @Nested
    @DirtiesContext
    @TestPropertySource(properties = "warmpath.drain.timeout=1ms")
    class AtTheBound extends StoppedRouter {

        private final Queue<ILoggingEvent> said = new ConcurrentLinkedQueue<>();
        private final AppenderBase<ILoggingEvent> ear = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (event.getLevel().isGreaterOrEqual(Level.WARN) || event.getThrowableProxy() != null) {
                    said.add(event);
                }
            }
        };

        @ErrorRow("503 router_is_stopping")
        @Test
        void streams_that_must_be_cut_get_their_error_event_and_the_log_one_line() throws Exception {
            join("w").doing(interrupted());
            List<Socket> streams = List.of(openStream(), openStream(), openStream());
            listen(true);

            router.stop();

            for (Socket stream : streams) {
                String rest = rest(stream);
                assertThat(events(rest).getLast()).isEqualTo(GONE);
                assertThat(rest).as("no last chunk").doesNotEndWith("0\r\n\r\n");
            }
            listen(false);
            assertThat(said).singleElement().satisfies(line -> {
                assertThat(line).hasToString("[WARN] 3 answers have not ended within 1 ms and are cut");
                assertThat(line.getThrowableProxy()).isNull();
            });
        }

        /** To all that have to do with answers. */
        private void listen(boolean begin) {
            ear.start();
            for (String name : List.of("dev.warmpath.router.completion", "dev.warmpath.router.openai",
                    "reactor.netty.http.server", "org.springframework.web")) {
                var logger = (Logger) LoggerFactory.getLogger(name);
                if (begin) {
                    logger.addAppender(ear);
                } else {
                    logger.detachAppender(ear);
                }
            }
        }
    }
}
