package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PrefixIndexTest {

    /** 10 blocks of 4 tokens. */
    private final BlockHashChain chain = BlockHashChain.of(
            HashSettings.ofBlockSize(4), ExtraKeys.NONE, IntStream.range(0, 41).toArray());
    private final PrefixIndex index = new PrefixIndex();

    @Test
    void every_length_of_prefix_is_found_by_halving_and_by_walking() {
        for (int held = 0; held <= 10; held++) {
            var fresh = new PrefixIndex();
            WorkerKeys closed = loaded(fresh.add(100, /* prefixClosed */ true), held);
            WorkerKeys open = loaded(fresh.add(100, /* prefixClosed */ false), held);

            PrefixMatch match = fresh.match(chain, 10);
            assertThat(match.blocks(closed)).isEqualTo(held);
            assertThat(match.blocks(open)).isEqualTo(held);
        }
    }

    @Test
    void a_match_ends_at_the_blocks_that_may_be_reused() {
        WorkerKeys worker = loaded(index.add(100, true), 10);

        assertThat(index.match(chain, 3).blocks(worker)).isEqualTo(3);
        assertThat(index.match(chain, 0).blocks(worker)).isZero();
    }

    @Test
    void a_worker_that_is_not_prefix_closed_is_not_credited_beyond_a_hole() {
        var keys = new long[] {chain.key(0), chain.key(1), chain.key(3), chain.key(4), chain.key(5)};
        WorkerKeys worker = loaded(index.add(100, false), keys);

        assertThat(index.match(chain, 10).blocks(worker)).isEqualTo(2);
    }

    @Test
    void a_removed_worker_is_gone_from_the_next_match() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        WorkerKeys other = loaded(index.add(100, true), 2);
        index.remove(worker);

        assertThat(index.match(chain, 10).blocks(worker)).isZero();
        assertThat(index.match(chain, 10).blocks(other)).isEqualTo(2);
        assertThat(index.holds(worker, chain.key(0))).isFalse();
        assertThat(index.holders(chain.key(0))).containsExactly(other);
    }

    @Test
    void the_memory_of_a_removed_worker_is_back_after_the_sweep() {
        long empty = index.stats().bytes();
        WorkerKeys worker = loaded(index.add(100_000, true), new Random(1).longs(100_000).toArray());
        WorkerKeys other = loaded(index.add(100, true), 5);
        index.remove(worker);
        PrefixIndex.Stats before = index.stats();
        assertThat(before).isEqualTo(new PrefixIndex.Stats(1, 5, 100_005, 0, 1, before.bytes()));
        assertThat(before.bytes()).isGreaterThan(empty + 100_000 * 12);

        assertThat(index.sweep()).isTrue();
        assertThat(index.stats()).isEqualTo(new PrefixIndex.Stats(1, 5, 5, 0, 0, empty));
        assertThat(index.match(chain, 10).blocks(other)).isEqualTo(5);
        assertThat(index.sweep()).isFalse();
    }

    @Test
    void a_reload_replaces_what_was_held_and_the_old_copy_is_swept_later() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        WorkerKeys other = loaded(index.add(100, true), 5);
        loaded(worker, 3);
        assertThat(index.match(chain, 10).blocks(worker)).isEqualTo(3);
        assertThat(index.match(chain, 10).blocks(other)).isEqualTo(5);
        assertThat(index.holders(chain.key(4))).containsExactly(other);
        assertThat(index.stats().retired()).isEqualTo(1);

        index.sweep();
        assertThat(index.match(chain, 10).blocks(worker)).isEqualTo(3);
        assertThat(index.stats().holderSets()).isEqualTo(1);       // blocks 0 to 2: both
        assertThat(index.stats().retired()).isZero();
    }

    @Test
    void a_worker_is_in_no_match_before_its_first_snapshot_nor_after_a_drift() {
        WorkerKeys worker = index.add(100, true);
        assertThat(index.stats().workers()).isZero();
        loaded(worker, 5);
        assertThat(index.stats().workers()).isEqualTo(1);

        worker.apply(new KvEventBatch("w", 1, 1, false, List.of(), 99, 0));
        assertThat(index.match(chain, 10).blocks(worker)).isZero();
        assertThat(index.stats().workers()).isZero();
    }

    @Test
    void the_key_zero_is_held_and_let_go_like_any_other() {
        WorkerKeys worker = loaded(index.add(100, true), 0L, 1L);
        assertThat(index.holds(worker, 0)).isTrue();
        loaded(worker, 1L);
        assertThat(index.holds(worker, 0)).isFalse();
    }

    @Test
    void a_snapshot_of_more_keys_than_the_pool_has_blocks_is_given_up_at_the_first_one_too_many() {
        WorkerKeys worker = index.add(/* blockCount */ 1_000, true);
        long[] keys = new Random(1).longs(50_000).toArray();

        var snapshot = new KvEventBatch("w", 1, 0, true, List.of(new Stored(Medium.DEVICE, keys)), 7, 7);
        assertThat(worker.apply(snapshot).size()).isEqualTo(1_001);
        assertThat(index.stats().keys()).isEqualTo(1_001);
        assertThat(index.stats().workers()).isZero();
        index.sweep();
        assertThat(index.stats().keys()).isZero();
    }

    @Test
    void what_is_applied_to_a_removed_worker_is_left_to_the_sweep() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        index.remove(worker);
        loaded(worker, 7);
        assertThat(worker.size()).isZero();
        assertThat(index.match(chain, 10).blocks(worker)).isZero();
        index.sweep();
        assertThat(index.stats().keys()).isZero();
    }

    /** Else its ordinal would be swept and given away a second time, under the keys of somebody who lives. */
    @Test
    void a_copy_that_is_given_up_twice_is_retired_once() {
        WorkerKeys drifted = loaded(index.add(100, true), 5);
        Copy copy = drifted.visible();
        index.copies().giveUp(drifted, copy);
        index.sweep();
        WorkerKeys next = loaded(index.add(100, true), 7);
        assertThat(next.visible().ordinal()).isEqualTo(copy.ordinal());

        index.copies().giveUp(drifted, copy);
        drifted.clear();
        assertThat(index.sweep()).isFalse();
        assertThat(index.match(chain, 10).blocks(next)).isEqualTo(7);
        assertThat(index.match(chain, 10).blocks(drifted)).isZero();
    }

    @Test
    void a_worker_that_is_removed_amid_a_batch_leaves_its_ordinal_to_one_other() {
        WorkerKeys removed = loaded(index.add(100, true), 5);
        Copy copy = removed.visible();                             // in the hands of its follower
        index.remove(removed);
        index.sweep();
        WorkerKeys next = loaded(index.add(100, true), 7);
        assertThat(next.visible().ordinal()).isEqualTo(copy.ordinal());

        index.add(copy, new long[] {chain.key(8)}, 100);
        assertThat(copy.size()).isEqualTo(5);                      // which is not what the batch says
        index.copies().giveUp(removed, copy);
        index.sweep();
        WorkerKeys another = loaded(index.add(100, true), 2);
        assertThat(another.visible().ordinal()).isNotEqualTo(next.visible().ordinal());
        assertThat(index.match(chain, 10).blocks(next)).isEqualTo(7);
        assertThat(index.match(chain, 10).blocks(another)).isEqualTo(2);
    }

    @Test
    void nobody_who_joins_leaves_asks_or_counts_waits_for_whoever_writes_keys() throws Exception {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        index.writing.lock();
        try (var others = Executors.newSingleThreadExecutor()) {
            assertThat(others.submit(() -> {
                WorkerKeys late = index.add(100, true);
                index.remove(late);
                int blocks = index.match(chain, 10).blocks(worker);
                worker.clear();
                return blocks + index.stats().workers();
            }).get()).isEqualTo(5);
        } finally {
            index.writing.unlock();
        }
    }

    @Test
    void a_thousand_clearings_in_one_batch_cost_one_copy() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        List<BlockChange> changes = new ArrayList<>();
        for (long key = 0; key < 1_000; key++) {
            changes.add(new Stored(Medium.DEVICE, new long[] {key}));
            changes.add(new BlockChange.Cleared());
        }
        changes.add(new Stored(Medium.DEVICE, new long[] {chain.key(0)}));
        worker.apply(batch(changes, chain.key(0)));

        assertThat(index.match(chain, 10).blocks(worker)).isEqualTo(1);
        assertThat(index.stats().retired()).isEqualTo(1);
        assertThat(worker.visible().ordinal()).isEqualTo(1);
    }

    @Test
    void whoever_clears_faster_than_the_sweeper_comes_round_sweeps_himself() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        for (int i = 0; i < 10_000; i++) {
            worker.apply(batch(List.of(new BlockChange.Cleared(), new Stored(Medium.DEVICE, new long[] {i})), i));
        }
        assertThat(index.stats().retired()).isLessThanOrEqualTo(256);
        assertThat(worker.visible().ordinal()).isLessThanOrEqualTo(256);
        assertThat(index.holds(worker, 9_999)).isTrue();
    }

    @Test
    void a_clearing_of_a_worker_that_holds_nothing_costs_nothing() {
        WorkerKeys worker = loaded(index.add(100, true), 0);
        for (int i = 0; i < 1_000; i++) {
            worker.apply(batch(List.of(new BlockChange.Cleared())));
        }
        assertThat(index.stats().retired()).isZero();
        assertThat(index.stats().workers()).isEqualTo(1);
    }

    /** Many enough to be sorted on their way into the tables, and two of them twice. */
    @Test
    void a_snapshot_of_many_keys_holds_each_of_them_once() {
        long[] keys = new Random(1).longs(20_000).toArray();
        keys[7] = keys[19_999];
        keys[8] = keys[19_998];
        WorkerKeys worker = loaded(index.add(19_998, true), keys);

        assertThat(worker.size()).isEqualTo(19_998);
        assertThat(Arrays.stream(keys).allMatch(key -> index.holds(worker, key))).isTrue();
        index.checkIntegrity();
    }

    /** A change that nobody can apply stands for whatever may go wrong in the middle. */
    @Test
    void a_batch_that_fails_halfway_leaves_nothing_behind() {
        WorkerKeys worker = loaded(index.add(100, true), 5);
        var changes = List.<BlockChange>of(new Stored(Medium.DEVICE, new long[] {1, 2}),
                new Stored(Medium.DEVICE, null));

        assertThatThrownBy(() -> worker.apply(new KvEventBatch("w", 1, 0, true, changes, 2, 0)))
                .isInstanceOf(NullPointerException.class);
        assertThat(index.match(chain, 10).blocks(worker)).isZero();
        assertThat(index.stats().retired()).isEqualTo(2);
        index.sweep();
        assertThat(index.stats().keys()).isZero();
        loaded(worker, 3);
        assertThat(index.match(chain, 10).blocks(worker)).isEqualTo(3);
    }

    /** More than a word of ordinals has bits for, of both kinds; the depth of each is 0 to 10 by its number. */
    @Test
    void fifteen_hundred_workers_are_told_apart_at_every_limit() {
        List<WorkerKeys> workers = new ArrayList<>();
        for (int i = 0; i < 1_500; i++) {
            workers.add(loaded(index.add(100, /* prefixClosed */ i % 7 != 0), i % 11));
        }
        for (int limit : new int[] {0, 1, 2, 3, 9, 10, 11, 1_000}) {
            PrefixMatch match = index.match(chain, limit);
            for (int i = 0; i < 1_500; i++) {
                assertThat(match.blocks(workers.get(i))).isEqualTo(Math.min(limit, i % 11));
            }
        }
        for (int i = 0; i < 1_500; i += 3) {
            index.remove(workers.get(i));
        }
        index.sweep();
        PrefixMatch match = index.match(chain, 10);
        for (int i = 0; i < 1_500; i++) {
            assertThat(match.blocks(workers.get(i))).isEqualTo(i % 3 == 0 ? 0 : i % 11);
        }
    }

    @Test
    void several_workers_are_answered_at_once_in_their_order() {
        WorkerKeys seven = loaded(index.add(100, true), 7);
        WorkerKeys open = loaded(index.add(100, false), 3);
        WorkerKeys empty = index.add(100, true);
        var matched = new MatchedBlocks(List.of(open, empty, seven));
        matched.read(index.match(chain, 10));

        assertThat(IntStream.range(0, 3).map(matched::at)).containsExactly(3, 0, 7);
        loaded(empty, 5);
        matched.read(index.match(chain, 10));
        assertThat(IntStream.range(0, 3).map(matched::at)).as("seen a moment later").containsExactly(3, 5, 7);
        matched.read(PrefixMatch.NOTHING);
        assertThat(IntStream.range(0, 3).map(matched::at)).containsExactly(0, 0, 0);
    }

    @Test
    void a_prompt_whose_first_block_nobody_holds_gets_an_answer_that_costs_no_memory() {
        WorkerKeys worker = loaded(index.add(100, true), chain.key(1), chain.key(2));
        loaded(index.add(100, false), chain.key(1));

        assertThat(index.match(chain, 10)).isSameAs(new PrefixIndex().match(chain, 10));
        assertThat(index.match(chain, 10).blocks(worker)).isZero();
    }

    private static KvEventBatch batch(List<BlockChange> changes, long... setThen) {
        var set = new KeySet();
        set.apply(new Stored(Medium.DEVICE, setThen));
        return new KvEventBatch("w", 1, 1, false, changes, set.size(), set.digest());
    }

    private WorkerKeys loaded(WorkerKeys worker, int blocks) {
        return loaded(worker, IntStream.range(0, blocks).mapToLong(chain::key).toArray());
    }

    private static WorkerKeys loaded(WorkerKeys worker, long... keys) {
        var set = new KeySet();
        set.apply(new Stored(Medium.DEVICE, keys));
        worker.apply(new KvEventBatch("w", 1, 0, true, List.of(new Stored(Medium.DEVICE, keys)), set.size(),
                set.digest()));
        return worker;
    }
}
