package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Removed;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.worker.routerlink.KvEventPublisher.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KvEventPublisherTest {

    private final KvEventPublisher publisher = new KvEventPublisher("w", 7);

    @Test
    void batches_are_numbered_from_one_and_carry_size_and_digest_of_the_set() {
        List<KvEventBatch> seen = follow();
        publisher.publish(List.of(stored(1, 2)));
        publisher.publish(List.of());
        publisher.publish(List.of(new Removed(Medium.DEVICE, new long[] {2}), stored(3)));

        assertThat(seen).extracting(KvEventBatch::sequence).containsExactly(0L, 1L, 2L);
        assertThat(seen).extracting(KvEventBatch::snapshot).containsExactly(true, false, false);
        assertThat(seen).extracting(KvEventBatch::setSize).containsExactly(0, 2, 2);
        assertThat(publisher.state()).isEqualTo(new State(2, 2, seen.getLast().setDigest()));
        assertThat(seen.getLast().changes()).hasSize(2);
    }

    @Test
    void a_late_reader_begins_with_a_snapshot_of_everything_before() {
        publisher.publish(List.of(stored(1, 2)));
        publisher.publish(List.of(stored(3)));
        List<KvEventBatch> seen = follow();
        publisher.publish(List.of(stored(4)));

        assertThat(seen).extracting(KvEventBatch::sequence).containsExactly(2L, 3L);
        assertThat(setOf(seen).toArray()).containsExactlyInAnyOrder(1, 2, 3, 4);
    }

    @Test
    void a_reader_that_asks_gets_one_more_snapshot_in_its_place_among_the_batches() {
        List<KvEventBatch> seen = new ArrayList<>();
        KvEventPublisher.Subscriber reader = frame -> seen.add(KvEventCodec.decode(
                Arrays.copyOfRange(frame, EventFrames.HEADER_BYTES, frame.length)));
        publisher.snapshot(reader);                                // not subscribed yet: nothing
        publisher.subscribe(reader);
        publisher.publish(List.of(stored(1, 2)));
        publisher.snapshot(reader);
        publisher.publish(List.of(stored(3)));

        assertThat(seen).extracting(KvEventBatch::snapshot).containsExactly(true, false, true, false);
        assertThat(seen).extracting(KvEventBatch::sequence).containsExactly(0L, 1L, 1L, 2L);
        assertThat(seen.get(2).setSize()).isEqualTo(2);
    }

    @Test
    void a_reader_that_cannot_take_a_frame_is_dropped_and_the_others_go_on() {
        publisher.subscribe(new KvEventPublisher.Subscriber() {
            private int taken;

            @Override
            public boolean offer(byte[] frame) {
                return taken++ < 2;
            }
        });
        List<KvEventBatch> seen = follow();
        publisher.publish(List.of(stored(1)));
        assertThat(publisher.subscriberCount()).isEqualTo(2);
        publisher.publish(List.of(stored(2)));
        assertThat(publisher.subscriberCount()).isEqualTo(1);
        publisher.publish(List.of(stored(3)));
        assertThat(seen).hasSize(4);
    }

    /** Readers come at random times while the engine publishes; each must end with the very same set. */
    @Test
    void readers_that_join_while_another_thread_publishes_miss_nothing() throws InterruptedException {
        Thread engine = Thread.ofPlatform().start(() -> {
            var random = new Random(5);
            for (int i = 0; i < 20_000; i++) {
                long key = random.nextInt(500);
                publisher.publish(List.of(random.nextBoolean()
                        ? stored(key) : new Removed(Medium.DEVICE, new long[] {key})));
            }
        });
        List<List<KvEventBatch>> readers = new ArrayList<>();
        while (engine.isAlive() && readers.size() < 20) {
            readers.add(follow());
        }
        engine.join();
        readers.add(follow());
        State state = publisher.state();
        for (List<KvEventBatch> seen : readers) {
            assertThat(setOf(seen).digest()).isEqualTo(state.setDigest());
            assertThat(seen.getLast().sequence()).isEqualTo(20_000);
        }
    }

    private List<KvEventBatch> follow() {
        List<KvEventBatch> seen = new ArrayList<>();
        publisher.subscribe(frame -> seen.add(KvEventCodec.decode(
                Arrays.copyOfRange(frame, EventFrames.HEADER_BYTES, frame.length))));
        return seen;
    }

    /** What the batches add up to, checked against each one's own word. */
    private static KeySet setOf(List<KvEventBatch> seen) {
        var keys = new KeySet();
        long expected = seen.getFirst().sequence();
        for (KvEventBatch batch : seen) {
            assertThat(batch.sequence()).isEqualTo(expected++);
            batch.changes().forEach(keys::apply);
            assertThat(keys.digest()).isEqualTo(batch.setDigest());
        }
        return keys;
    }

    private static BlockChange stored(long... keys) {
        return new Stored(Medium.DEVICE, keys);
    }
}
