package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Removed;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.prefix.ApplyOutcome.Applied;
import dev.warmpath.router.prefix.ApplyOutcome.Drift;
import dev.warmpath.router.prefix.ApplyOutcome.Gap;
import dev.warmpath.router.prefix.ApplyOutcome.Repeated;
import dev.warmpath.router.prefix.ApplyOutcome.TooManyKeys;
import dev.warmpath.router.prefix.ApplyOutcome.WrongSender;
import dev.warmpath.router.prefix.SyncState.Behind;
import dev.warmpath.router.prefix.SyncState.InStep;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class KvEventApplierTest {

    private final PrefixIndex index = new PrefixIndex();
    private final WorkerKeys copy = index.add(/* blockCount */ 1_000, true);
    private final KvEventApplier applier = new KvEventApplier("w", 5, copy);
    private final KeySet worker = new KeySet();
    private long sequence;

    @Test
    void a_snapshot_and_the_batches_after_it_make_the_workers_set() {
        assertThat(applier.apply(snapshot())).isEqualTo(new Applied(0));
        assertThat(applier.apply(batch(stored(1, 2, 3)))).isEqualTo(new Applied(1));
        assertThat(applier.apply(batch(removed(3), stored(4)))).isEqualTo(new Applied(2));

        assertThat(index.holds(copy, 4)).isTrue();
        assertThat(index.holds(copy, 3)).isFalse();
        assertThat(copy.size()).isEqualTo(3);
    }

    @Test
    void a_batch_before_any_snapshot_is_a_gap() {
        assertThat(applier.apply(batch(stored(1)))).isEqualTo(new Gap(0, 1));
        assertThat(copy.size()).isZero();
    }

    @Test
    void a_missing_batch_empties_the_copy_until_the_next_snapshot() {
        applier.apply(snapshot());
        applier.apply(batch(stored(1)));
        batch(stored(2));                                          // lost

        assertThat(applier.apply(batch(stored(3)))).isEqualTo(new Gap(2, 3));
        assertThat(copy.size()).isZero();
        assertThat(applier.position().sequence()).isEqualTo(KvEventApplier.NO_SEQUENCE);
        assertThat(applier.apply(batch(stored(4)))).isEqualTo(new Gap(0, 4));
        assertThat(applier.apply(snapshot())).isEqualTo(new Applied(4));
        assertThat(copy.size()).isEqualTo(4);
    }

    @Test
    void a_repeated_batch_changes_nothing() {
        applier.apply(snapshot());
        KvEventBatch first = batch(stored(1));
        KvEventBatch second = batch(removed(1), stored(2));
        applier.apply(first);
        applier.apply(second);

        assertThat(applier.apply(first)).isEqualTo(new Repeated(1));
        assertThat(applier.apply(second)).isEqualTo(new Repeated(2));
        assertThat(index.holds(copy, 1)).isFalse();
        assertThat(copy.size()).isEqualTo(1);
    }

    @Test
    void a_mark_changes_nothing_and_shows_a_missing_batch() {
        KvEventBatch start = snapshot();
        KvEventBatch first = batch(stored(1));
        applier.apply(start);

        assertThat(applier.apply(start.mark())).isEqualTo(new Repeated(0));
        assertThat(applier.apply(first.mark())).isEqualTo(new Gap(1, 1));
        assertThat(copy.size()).isZero();
    }

    @Test
    void two_batches_in_the_wrong_order_are_a_gap() {
        applier.apply(snapshot());
        KvEventBatch first = batch(stored(1));
        KvEventBatch second = batch(stored(2));

        assertThat(applier.apply(second)).isEqualTo(new Gap(1, 2));
        assertThat(applier.apply(first)).isEqualTo(new Gap(0, 1));
    }

    @Test
    void another_epoch_or_another_worker_is_refused_with_both_names() {
        applier.apply(snapshot());

        assertThat(applier.apply(new KvEventBatch("w", 4, 1, false, List.of(stored(1)), 1, 0)))
                .isEqualTo(new WrongSender("w", 5, "w", 4));
        assertThat(applier.apply(new KvEventBatch("x", 5, 0, true, List.of(), 0, 0)))
                .isEqualTo(new WrongSender("w", 5, "x", 5));
        assertThat(copy.size()).isZero();
    }

    @Test
    void a_copy_that_differs_from_the_announced_digest_is_thrown_away() {
        applier.apply(snapshot());
        applier.apply(batch(stored(1)));

        assertThat(applier.apply(new KvEventBatch("w", 5, 2, false, List.of(stored(2)), 2, 12345)))
                .isEqualTo(new Drift(2, 2, 2));
        assertThat(copy.size()).isZero();
    }

    @Test
    void a_worker_cannot_claim_more_blocks_than_its_pool_has() {
        long[] keys = new long[1_001];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = i;
        }
        assertThat(applier.apply(snapshot())).isEqualTo(new Applied(0));
        assertThat(applier.apply(batch(new Stored(Medium.DEVICE, keys)))).isEqualTo(new TooManyKeys(1_000, 1_001));
        assertThat(copy.size()).isZero();
    }

    @Test
    void a_pool_is_not_exceeded_even_by_a_batch_that_claims_a_smaller_set() {
        applier.apply(snapshot());

        Stored tooMany = stored(LongStream.range(0, 5_000).toArray());
        assertThat(applier.apply(new KvEventBatch("w", 5, 1, false, List.of(tooMany), 10, 0)))
                .isEqualTo(new TooManyKeys(1_000, 1_001));
        assertThat(copy.size()).isZero();
        assertThat(applier.position().sequence()).isEqualTo(KvEventApplier.NO_SEQUENCE);
    }

    @Test
    void a_heartbeat_says_how_far_the_copy_is_behind_and_whether_it_is_right() {
        assertThat(applier.compare(0, 0, 0)).isEqualTo(new Behind(1));
        applier.apply(snapshot());
        assertThat(applier.compare(0, 0, 0)).isEqualTo(new InStep());
        applier.apply(batch(stored(1, 2)));
        assertThat(applier.compare(0, 0, 0)).isEqualTo(new InStep());          // an older heartbeat
        assertThat(applier.compare(1, 2, worker.digest())).isEqualTo(new InStep());
        assertThat(applier.compare(4, 9, 9)).isEqualTo(new Behind(3));
        assertThat(applier.compare(1, 2, 4711))
                .isEqualTo(new SyncState.Drift(1, 2, 4711, 2, worker.digest()));
        assertThat(copy.size()).isEqualTo(2);
    }

    /** Batches are lost, doubled, swapped and come from another life; whoever asks for a snapshot then gets one. */
    @Test
    void ten_thousand_random_sequences_end_with_exactly_the_workers_set() {
        for (int seed = 0; seed < 10_000; seed++) {
            runSequence(new Random(seed), seed);
        }
    }

    private static void runSequence(Random random, int seed) {
        var test = new KvEventApplierTest();
        List<KvEventBatch> onTheWay = new ArrayList<>(List.of(test.snapshot()));
        for (int step = 0; step < 12; step++) {
            onTheWay.add(random.nextInt(20) == 0
                    ? test.batch(new BlockChange.Cleared())
                    : test.batch(random.nextBoolean() ? stored(key(random), key(random)) : removed(key(random))));
            switch (random.nextInt(8)) {
                case 0 -> onTheWay.removeLast();
                case 1 -> onTheWay.add(onTheWay.get(random.nextInt(onTheWay.size())));
                case 2 -> onTheWay.addFirst(onTheWay.removeLast());
                case 3 -> onTheWay.add(new KvEventBatch("w", 4, 1 + step, false, List.of(stored(99)), 1, 1));
                default -> { }
            }
            if (random.nextBoolean()) {
                test.deliver(onTheWay);
            }
        }
        test.deliver(onTheWay);
        if (test.applier.position().sequence() != test.sequence) {     // the last one was lost: a heartbeat tells
            test.applier.apply(test.snapshot());
        }
        assertThat(test.copy.size()).as("seed %d", seed).isEqualTo(test.worker.size());
        for (long key : test.worker.toArray()) {
            assertThat(test.index.holds(test.copy, key)).as("seed %d, key %d", seed, key).isTrue();
        }
    }

    private void deliver(List<KvEventBatch> onTheWay) {
        for (KvEventBatch batch : onTheWay) {
            switch (applier.apply(batch)) {
                case Applied(var _), Repeated(var _) -> { }
                case Gap _, WrongSender _, Drift _, TooManyKeys _ -> applier.apply(snapshot());
            }
        }
        onTheWay.clear();
        onTheWay.add(snapshot());
    }

    private static long key(Random random) {
        return random.nextInt(12);
    }

    private static Stored stored(long... keys) {
        return new Stored(Medium.DEVICE, keys);
    }

    private static Removed removed(long... keys) {
        return new Removed(Medium.DEVICE, keys);
    }

    private KvEventBatch snapshot() {
        return new KvEventBatch("w", 5, sequence, true, List.of(stored(worker.toArray())), worker.size(),
                worker.digest());
    }

    private KvEventBatch batch(BlockChange... changes) {
        for (BlockChange change : changes) {
            worker.apply(change);
        }
        sequence++;
        return new KvEventBatch("w", 5, sequence, false, List.of(changes), worker.size(), worker.digest());
    }
}
