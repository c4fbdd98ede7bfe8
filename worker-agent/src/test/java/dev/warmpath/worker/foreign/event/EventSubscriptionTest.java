package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.TestEngine;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventSubscriptionTest {

    private static final HashSettings TWO = HashSettings.ofBlockSize(2);
    private static final byte[] NOTHING = {};

    private final Announced announced = new Announced();

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void who_comes_late_hears_what_was_and_what_comes(boolean answersHaveTopic) {
        try (var engine = new PublishingEngine(100, answersHaveTopic)) {
            engine.lose(store(0));
            engine.lose(store(1));
            try (EventSubscription subscription = follow(engine.source())) {
                engine.awaitSubscriber();
                announced.await(0, 1);
                engine.publish(store(2));
                announced.await(0, 1, 2);
                until(() -> subscription.counts().batches() == 3);

                assertThat(subscription.counts().replayed()).isEqualTo(2);
                assertThat(subscription.isAlive()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void what_gets_lost_is_asked_for(boolean answersHaveTopic) {
        try (var engine = new PublishingEngine(100, answersHaveTopic);
                EventSubscription subscription = follow(engine.source())) {
            until(subscription::isConnected);                               // and has asked what there is
            engine.awaitSubscriber();
            engine.publish(store(0));
            announced.await(0);
            engine.lose(store(1));
            engine.lose(store(2));
            engine.publish(store(3));
            announced.await(0, 1, 2, 3);
            until(() -> subscription.counts().gaps() == 1);

            assertThat(announced.clears()).isZero();
            assertThat(engine.questions()).isGreaterThanOrEqualTo(2);
            assertThat(subscription.counts().lostGaps()).isZero();
        }
    }

    @Test
    void what_the_buffer_has_forgotten_clears_everything_before_it() {
        try (var engine = new PublishingEngine(2, true); EventSubscription subscription = follow(engine.source())) {
            until(subscription::isConnected);                               // and has asked what there is
            engine.awaitSubscriber();
            engine.publish(store(0));
            announced.await(0);
            for (int i = 1; i < 5; i++) {
                engine.lose(store(i));
            }
            engine.publish(store(5));
            announced.await(4, 5);
            until(() -> subscription.counts().lostGaps() == 1);

            assertThat(announced.clears()).isEqualTo(1);
        }
    }

    @Test
    void an_engine_that_comes_again_is_followed_from_nothing() {
        try (var engine = new PublishingEngine(100, true); EventSubscription subscription = follow(engine.source())) {
            engine.awaitSubscriber();
            engine.publish(store(0));
            engine.publish(store(1));
            announced.await(0, 1);

            engine.restart();
            engine.awaitSubscriber();
            announced.await();                                              // before it has sent anything
            engine.publish(store(100));
            announced.await(100);
            until(() -> subscription.counts().restarts() == 1);

            assertThat(announced.clears()).isEqualTo(1);
        }
    }

    @Test
    void an_engine_that_is_not_there_yet_is_waited_for() {
        try (var engine = new PublishingEngine(100, true)) {
            engine.stop();
            try (EventSubscription subscription = follow(engine.source())) {
                engine.restart();
                engine.awaitSubscriber();
                engine.publish(store(0));
                announced.await(0);
                assertThat(subscription.isAlive()).isTrue();
            }
        }
    }

    @Test
    void without_a_replay_socket_or_with_one_that_is_silent_it_begins_with_the_next_message() throws Exception {
        try (var engine = new PublishingEngine(100, true);
                var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            for (String replay : Arrays.asList(null, "tcp://127.0.0.1:" + silent.getLocalPort())) {
                var source = new EventSource(engine.endpoint(), replay, "kv@", Duration.ofMillis(1));
                try (EventSubscription subscription = follow(source)) {
                    engine.awaitSubscriber();
                    engine.lose(store(0));
                    engine.publish(store(1));
                    announced.await(1);
                    engine.lose(store(2));
                    engine.publish(store(3));
                    announced.await(3);
                    until(() -> subscription.counts().lostGaps() == 1);
                }
                announced.forget();
                engine.restart();
            }
        }
    }

    @Test
    void messages_that_are_not_made_like_one_are_counted_and_nothing_else_is_lost() {
        try (var engine = new PublishingEngine(100, true); EventSubscription subscription = follow(engine.source())) {
            engine.awaitSubscriber();
            engine.publish(store(0));
            engine.send(NOTHING);
            engine.send(NOTHING, new byte[8]);
            engine.send(NOTHING, new byte[7], store(1));
            engine.send(NOTHING, new byte[8], store(1), NOTHING, NOTHING, NOTHING, NOTHING);
            engine.publish(new byte[] {(byte) 0xc1});
            engine.publish(store(2));
            announced.await(0, 2);
            until(() -> subscription.counts().broken() == 5);

            assertThat(subscription.counts().gaps()).isZero();
            assertThat(subscription.counts().batches()).isEqualTo(3);
        }
    }

    @Test
    void a_message_above_the_limit_costs_its_connection_and_what_came_before_it() {
        try (var engine = new PublishingEngine(100, true)) {
            var source = new EventSource(
                    engine.endpoint(), engine.source().replayEndpoint(), "", Duration.ofMillis(100));
            try (EventSubscription subscription = follow(source)) {
                engine.awaitSubscriber();
                engine.publish(store(0));
                announced.await(0);

                engine.publish(new byte[(16 << 20) + 1]);
                engine.awaitSubscriber();
                engine.publish(store(2));
                announced.await(2);
                until(() -> subscription.counts().lostGaps() == 1);

                assertThat(subscription.isAlive()).isTrue();
            }
        }
    }

    @Test
    void closing_ends_the_thread_and_the_listener_hears_nothing_more() throws Exception {
        try (var engine = new PublishingEngine(100, true);
                var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            EventSubscription idle = follow(engine.source());
            engine.awaitSubscriber();
            EventSubscription waiting = follow(new EventSource(
                    engine.endpoint(), "tcp://127.0.0.1:" + silent.getLocalPort(), "", Duration.ofDays(1)));
            engine.awaitSubscriber();

            idle.close();
            waiting.close();
            idle.close();

            assertThat(idle.isAlive()).isFalse();
            assertThat(waiting.isAlive()).isFalse();
            engine.publish(store(0));
            assertThat(announced.size()).isZero();
        }
    }

    @Test
    void a_listener_that_throws_ends_the_subscription() {
        try (var engine = new PublishingEngine(100, true);
                var subscription = new EventSubscription(engine.source(), TWO, 100, changes -> {
                    throw new IllegalStateException("a listener of this test");
                })) {
            engine.awaitSubscriber();
            engine.publish(store(0));

            until(() -> !subscription.isAlive());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu-1:5557", "tcp://*:5557", "tcp://gpu-1", "tcp://gpu-1:0", "ipc://events", ""})
    void what_nobody_can_connect_to_is_refused_by_name(String endpoint) {
        Duration patience = Duration.ofSeconds(1);

        assertThatThrownBy(() -> new EventSource(endpoint, null, "", patience))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'" + endpoint + "'");
        assertThatThrownBy(() -> new EventSource("tcp://127.0.0.1:1", endpoint, "", patience))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'" + endpoint + "'");
    }

    @Test
    void a_host_without_an_address_is_refused_and_one_for_replays_is_taken_for_silent() {
        assertThatThrownBy(() -> follow(new EventSource("tcp://host.invalid:1", null, "", Duration.ofSeconds(1))))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("host.invalid");
        try (var engine = new PublishingEngine(100, true); EventSubscription subscription = follow(
                new EventSource(engine.endpoint(), "tcp://host.invalid:1", "", Duration.ofDays(1)))) {
            engine.awaitSubscriber();
            engine.publish(store(0));
            announced.await(0);
            assertThat(subscription.isAlive()).isTrue();
        }
    }

    @Test
    void connected_is_who_speaks_as_zeromq_does_and_only_while_it_is_there() {
        try (var engine = new PublishingEngine(100, true); var web = TestEngine.start();
                EventSubscription subscription = follow(engine.source());
                EventSubscription atWeb = follow(new EventSource("tcp://127.0.0.1:" + web.port(), null, "",
                        EventSource.DEFAULT_REPLAY_PATIENCE))) {
            until(subscription::isConnected);
            engine.stop();
            until(() -> !subscription.isConnected());
            engine.restart();
            until(subscription::isConnected);
            assertThat(atWeb.isConnected()).isFalse();
        }
    }

    private EventSubscription follow(EventSource source) {
        return new EventSubscription(source, TWO, 1000, announced::apply);
    }

    /** A batch that stores one block of its own, sent at a time of its own. */
    private static byte[] store(int id) {
        return Packed.batch(1000 + id, Arrays.asList("BlockStored", List.of(50_000L + id), null, List.of(7, id), 2));
    }

    private static void until(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            LockSupport.parkNanos(Duration.ofMillis(2).toNanos());
        }
    }

    /** The announced set, which the subscription's thread changes and a test waits for. */
    private static final class Announced {

        private final KeySet keys = new KeySet();
        private int clears;

        synchronized void apply(List<BlockChange> changes) {
            changes.forEach(keys::apply);
            clears += changes.contains(new BlockChange.Cleared()) ? 1 : 0;
            notifyAll();
        }

        synchronized void await(int... ids) {
            var wanted = new KeySet();
            for (int id : ids) {
                wanted.add(BlockHashChain.of(TWO, ExtraKeys.NONE, new int[] {7, id}).key(0));
            }
            try {
                while (keys.size() != wanted.size() || keys.digest() != wanted.digest()) {
                    wait();
                }
            } catch (InterruptedException e) {
                throw new AssertionError("never announced: " + Arrays.toString(ids), e);
            }
        }

        synchronized int clears() {
            return clears;
        }

        synchronized int size() {
            return keys.size();
        }

        synchronized void forget() {
            keys.clear();
        }
    }
}
