package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.http.SseStream.BrokenOffException;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;
import reactor.test.publisher.TestPublisher;
import tools.jackson.databind.json.JsonMapper;

/** A stream of strings, each of which becomes an event, but for the empty one; heartbeats each second. */
class SseStreamTest {

    private static final Duration HEARTBEAT = Duration.ofSeconds(1);

    private final EmbeddedChannel connection = new EmbeddedChannel();
    private final TestPublisher<String> answer = TestPublisher.create();
    private final Network network = new Network();
    private int drawn;

    @AfterEach
    void close() {
        connection.close();
    }

    @Test
    void the_answer_is_asked_for_sixteen_events_ahead_at_most() {
        List<Long> asked = new ArrayList<>();
        stream(connection.eventLoop()).of(answer.flux().doOnRequest(asked::add)).subscribe(network);
        network.request(1);
        answer.next("a");
        network.request(127);

        assertThat(asked).containsExactly(1L, 16L);

        IntStream.range(0, 16).forEach(i -> answer.next("b"));
        assertThat(asked.stream().mapToLong(Long::longValue).sum()).isEqualTo(33);
        assertThat(network.text()).hasSize(17);
    }

    /** What has no event of its own is no reason to ask the network for more. */
    @Test
    void an_event_that_makes_nothing_passes_without_demand() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(1);
        answer.next("", "", "a");

        assertThat(network.text()).containsExactly("data: a\n\n");
    }

    @Test
    void silence_is_broken_by_a_comment_once_the_answer_has_begun() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(128);
        pass(Duration.ofSeconds(5));
        assertThat(network.text()).as("headers name the worker, which is not known yet").isEmpty();

        answer.next("a");
        pass(Duration.ofSeconds(1));
        assertThat(network.text()).containsExactly("data: a\n\n", ": still at it\n\n");
    }

    @Test
    void a_reader_that_takes_nothing_for_four_heartbeats_is_given_up() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(1);
        answer.next("a");
        pass(Duration.ofSeconds(4));
        assertThat(network.error).isNull();

        pass(Duration.ofSeconds(2));
        assertThat(network.error).isInstanceOf(TimeoutException.class)
                .hasMessage("the client has read nothing for 4000 ms");
        answer.assertCancelled();
        assertThat(drawn).isEqualTo(1);
    }

    /** However silent the answer, as long as somebody reads: each heartbeat takes one of what the network asks for. */
    @Test
    void a_reader_of_a_silent_answer_is_not_given_up() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(128);
        answer.next("a");
        pass(Duration.ofSeconds(30));

        assertThat(network.error).isNull();
        assertThat(network.text()).hasSizeGreaterThan(30);
    }

    @Test
    void a_failure_before_the_first_event_is_an_ordinary_error() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(1);
        answer.error(new IllegalStateException("no"));

        assertThat(network.error).isInstanceOf(IllegalStateException.class);
        assertThat(network.text()).isEmpty();
        assertThat(drawn).isEqualTo(1);
    }

    @Test
    void a_later_one_is_told_in_the_stream_as_soon_as_that_is_asked_for() {
        stream(connection.eventLoop()).of(answer.flux()).subscribe(network);
        network.request(1);
        answer.next("a").error(new IllegalStateException("no"));
        assertThat(network.text()).containsExactly("data: a\n\n");
        assertThat(network.error).isNull();
        assertThat(drawn).as("what the answer held is free at once").isEqualTo(1);

        network.request(1);
        assertThat(network.text().getLast()).startsWith("data: {\"error\":{");
        assertThat(network.error).isInstanceOf(BrokenOffException.class);
    }

    @Test
    void a_reader_that_leaves_ends_the_answer_once() {
        SseStream<String> stream = stream(connection.eventLoop());
        stream.of(answer.flux()).subscribe(network);
        network.request(8);
        answer.next("a");
        network.cancel();
        stream.cancel();
        pass(Duration.ofSeconds(30));

        answer.assertCancelled();
        assertThat(drawn).isEqualTo(1);
        assertThat(network.text()).containsExactly("data: a\n\n");
    }

    /** A choice is told by the thread that made it, tokens by the connection's: neither overtakes the other. */
    @Test
    void what_comes_from_two_threads_stays_in_order() throws InterruptedException {
        var loop = new DefaultEventLoop();
        try {
            List<String> events = IntStream.range(0, 2_000).mapToObj(Integer::toString).toList();
            Flux<String> elsewhere = Flux.fromIterable(events.subList(0, 1_000)).publishOn(Schedulers.single());
            Flux<String> here = Flux.fromIterable(events.subList(1_000, 2_000))
                    .publishOn(Schedulers.fromExecutor(loop));
            stream(loop).of(elsewhere.concatWith(here)).subscribe(network);
            network.request(Long.MAX_VALUE);
            assertThat(network.awaitEnd()).isTrue();

            assertThat(network.text()).isEqualTo(events.stream().map(each -> "data: " + each + "\n\n").toList());
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private SseStream<String> stream(EventLoop loop) {
        var events = new SseEvents(JsonMapper.builder().build(), UnpooledByteBufAllocator.DEFAULT);
        return new SseStream<>(text -> {
            if (!text.isEmpty()) {
                events.addText(text);
            }
        }, events, new NettyDataBufferFactory(UnpooledByteBufAllocator.DEFAULT), loop, HEARTBEAT, () -> drawn++);
    }

    /** The connection's own clock. */
    private void pass(Duration time) {
        for (long i = 0; i < time.toMillis(); i += 100) {
            connection.advanceTimeBy(100, TimeUnit.MILLISECONDS);
            connection.runScheduledPendingTasks();
        }
    }

    /** Asks for what the test says, and keeps what comes. */
    private static final class Network extends BaseSubscriber<DataBuffer> {

        private final List<String> written = new ArrayList<>();
        private volatile @Nullable Throwable error;
        private volatile boolean ended;

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            // the test asks
        }

        @Override
        protected synchronized void hookOnNext(DataBuffer buffer) {
            written.add(buffer.toString(StandardCharsets.UTF_8));
            DataBufferUtils.release(buffer);
        }

        @Override
        protected void hookOnError(Throwable failure) {
            error = failure;
            ended = true;
        }

        @Override
        protected void hookOnComplete() {
            ended = true;
        }

        synchronized List<String> text() {
            return List.copyOf(written);
        }

        boolean awaitEnd() throws InterruptedException {
            for (int i = 0; i < 6_000 && !ended; i++) {
                Thread.sleep(10);
            }
            return ended;
        }
    }
}
