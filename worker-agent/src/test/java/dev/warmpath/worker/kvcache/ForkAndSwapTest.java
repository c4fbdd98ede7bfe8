package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.cache;
import static dev.warmpath.worker.kvcache.Sequences.copies;
import static dev.warmpath.worker.kvcache.Sequences.forked;
import static dev.warmpath.worker.kvcache.Sequences.grow;
import static dev.warmpath.worker.kvcache.Sequences.hitTokens;
import static dev.warmpath.worker.kvcache.Sequences.keyed;
import static dev.warmpath.worker.kvcache.Sequences.queue;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.references;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static dev.warmpath.worker.kvcache.Sequences.table;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Sharing until the first write, and the way to host memory and back. The figures of K35 and K36 come from allocators
 * without a null block: our block ids are one higher, our pools one larger.
 */
class ForkAndSwapTest {

    @Test
    @DisplayName("K35: blocks are reused last in, first out")
    void single_blocks_are_reused_last_in_first_out() {
        KvCacheManager cache = uncached(5, 4);
        TokenSequence a = sequence(4, 1);
        TokenSequence b = sequence(4, 2);
        TokenSequence c = sequence(4, 3);
        List.of(a, b, c).forEach(each -> admitted(cache, each));
        cache.release(b);
        cache.release(a);
        assertThat(queue(cache)).containsExactly(1, 2, 4);

        TokenSequence d = sequence(4, 4);
        TokenSequence e = sequence(4, 5);
        TokenSequence f = sequence(4, 6);
        List.of(d, e, f).forEach(each -> admitted(cache, each));
        assertThat(List.of(d.table().block(0), e.table().block(0), f.table().block(0))).containsExactly(1, 2, 4);
        TokenSequence g = sequence(4, 7);
        assertThat(cache.admit(g, cache.match(g), 1)).isFalse();
    }

    @Test
    @DisplayName("K35: copy on write")
    void a_child_that_writes_gets_a_copy_and_the_last_holder_writes_in_place() {
        KvCacheManager cache = uncached(9, 4);
        TokenSequence parent = sequence(4, range(0, 5));
        admitted(cache, parent);
        settle(cache, parent);
        TokenSequence child = parent.fork();
        child.append(60);
        assertThat(cache.shareableTokens(parent, child)).isEqualTo(6);
        assertThat(references(cache, 1, 2)).as("nothing is taken yet").containsExactly(1, 1);

        assertThat(cache.fork(parent, child, Admission.of(1))).isTrue();
        assertThat(table(child)).containsExactly(1, 3);
        assertThat(references(cache, 1, 2, 3)).containsExactly(2, 1, 1);
        assertThat(copies(cache)).containsExactly("WITHIN_DEVICE 2->3");
        assertThat(cache.freeBlocks()).isEqualTo(5);
        cache.copies().clear();

        grow(cache, parent, 61);
        assertThat(table(parent)).containsExactly(1, 2);
        assertThat(copies(cache)).isEmpty();
        cache.checkIntegrity(List.of(parent, child));
    }

    @Test
    @DisplayName("K35: a full last block")
    void a_child_whose_parent_ends_with_a_full_block_needs_no_copy() {
        KvCacheManager cache = uncached(9, 4);
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);
        TokenSequence child = parent.fork();
        child.append(80);

        assertThat(cache.fork(parent, child, Admission.of(1))).isTrue();

        assertThat(table(child)).containsExactly(1, 2, 3);
        assertThat(copies(cache)).isEmpty();
    }

    @Test
    void a_child_of_a_finished_prompt_computes_its_last_token_into_a_block_of_its_own() {
        KvCacheManager cache = cache(9, 4);
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);
        settle(cache, parent);
        TokenSequence child = parent.fork();

        assertThat(forked(cache, parent, child)).isTrue();

        assertThat(child.computedTokens()).isEqualTo(8);
        assertThat(child.cachedTokens()).isEqualTo(7);
        cache.release(parent);
        assertThat(table(child)).containsExactly(1, 3);
        assertThat(copies(cache)).containsExactly("WITHIN_DEVICE 2->3");
        assertThat(keyed(cache)).as("two blocks under one key").containsExactly(1, 2, 3);
        assertThat(cache.pool().keyCount(0)).isEqualTo(2);
        assertThat(queue(cache)).containsExactly(4, 5, 6, 7, 8, 2);
        cache.checkIntegrity(List.of(child));
    }

    @Test
    void a_child_that_ends_within_a_full_block_of_its_parent_writes_to_a_copy() {
        KvCacheManager cache = cache(9, 4);
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);
        TokenSequence child = sequence(4, range(0, 5));
        assertThat(cache.fork(parent, child, Admission.of(1))).isTrue();
        assertThat(table(child)).containsExactly(1, 3);
        assertThat(copies(cache)).containsExactly("WITHIN_DEVICE 2->3");
        cache.checkIntegrity(List.of(parent, child));
    }

    @Test
    void a_fork_without_room_for_its_copy_is_refused_takes_nothing_and_counts_nothing() {
        KvCacheManager cache = cache(4, 4);
        TokenSequence parent = sequence(4, range(0, 5));
        admitted(cache, parent);
        settle(cache, parent);
        TokenSequence stranger = sequence(4, 100);
        admitted(cache, stranger);
        TokenSequence child = parent.fork();
        PrefixCacheStats before = cache.stats();
        PrefixHit hit = cache.match(child);

        for (int i = 0; i < 3; i++) {
            assertThat(forked(cache, parent, child)).isFalse();
        }

        assertThat(table(child)).isEmpty();
        assertThat(child.computedTokens()).isZero();
        assertThat(copies(cache)).isEmpty();
        assertThat(references(cache, 1, 2)).containsExactly(1, 1);
        assertThat(cache.stats()).isEqualTo(before);
        assertThat(cache.admit(child, hit, 2)).as("the match is valid still: but there is no room either").isFalse();
        cache.release(stranger);
        admitted(cache, child);
        assertThat(child.cachedTokens()).as("what it found when it was admitted").isEqualTo(4);
        assertThat(cache.stats().preemptedRequests()).isZero();
        assertThat(cache.stats().requests()).isEqualTo(3);
        assertThat(cache.stats().hitTokens()).isEqualTo(4);
        cache.checkIntegrity(List.of(parent, child));
    }

    @Test
    void a_fork_leaves_the_watermark_free_and_asks_for_room_to_the_end_if_told_to() {
        var cache = new KvCacheManager(KvCacheSettings.of(10, 4).withWatermark(0.6));
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);                                      // 7 are free, 6 of them below the watermark
        TokenSequence child = sequence(4, range(0, 17));
        Admission two = Admission.of(8);

        assertThat(cache.shareableTokens(parent, child)).isEqualTo(8);
        assertThat(cache.fork(parent, child, two.withOthersRun(true))).isFalse();
        assertThat(cache.fork(parent, child, Admission.of(4).withOthersRun(true).withWholeSequence(true))).isFalse();
        assertThat(cache.fork(parent, child, two.withLookahead(21))).as("8 blocks").isFalse();
        assertThat(cache.fork(parent, child, Admission.of(4).withOthersRun(true))).isTrue();
        assertThat(table(child)).containsExactly(1, 2, 3);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> cache.fork(parent, sequence(4, range(0, 17)), two.withExternalTokens(1, false)))
                .withMessageContaining("1 external tokens");
    }

    @Test
    void a_fork_shares_every_group_as_far_as_it_is_seen() {
        var cache = new KvCacheManager(
                KvCacheSettings.of(21, 4).withGroups(new FullAttention(), new SlidingWindow(5)));
        TokenSequence parent = sequence(4, range(0, 9));
        admitted(cache, parent);
        TokenSequence child = parent.fork();

        assertThat(forked(cache, parent, child)).isTrue();
        assertThat(table(child, 0)).containsExactly(1, 2, 7);
        assertThat(table(child, 1)).containsExactly(0, 5, 8);
        assertThat(copies(cache)).containsExactly("WITHIN_DEVICE 3->7", "WITHIN_DEVICE 6->8");
        cache.checkIntegrity(List.of(parent, child));
    }

    @Test
    void a_fork_is_refused_where_a_window_has_moved_on_or_nothing_is_there() {
        var cache = new KvCacheManager(KvCacheSettings.of(21, 4).withGroups(new SlidingWindow(2)));
        TokenSequence parent = sequence(4, range(0, 7));
        TokenSequence child = sequence(4, range(0, 3));
        assertThat(forked(cache, parent, child)).as("the parent is not admitted").isFalse();
        admitted(cache, parent);
        settle(cache, parent);
        grow(cache, parent, 8);

        assertThat(cache.shareableTokens(parent, child)).isZero();
        assertThat(forked(cache, parent, child)).isFalse();

        assertThat(child.table().blockCount()).isZero();
        cache.checkIntegrity(List.of(parent));
    }

    @Test
    void a_fork_of_strangers_is_an_error() {
        KvCacheManager cache = cache(21, 4);
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);
        TokenSequence child = parent.fork();
        assertThat(forked(cache, parent, child)).isTrue();

        assertThatIllegalStateException().isThrownBy(() -> forked(cache, parent, child))
                .withMessageContaining("[1, 3]");
        assertThatIllegalArgumentException().isThrownBy(() -> forked(cache, parent, sequence(4, 0, 1, 9, 3)))
                .withMessage("the child differs from its parent at position 2");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> forked(cache, parent, sequence(4, ExtraKeys.ofSalt("s"), range(0, 7))))
                .withMessageContaining("salt");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> forked(cache, parent, sequence(4, ExtraKeys.ofSalt("s"), 0, 1)))
                .as("below one full block").withMessageContaining("salt");
        cache.checkIntegrity(List.of(parent, child));
    }

    @Test
    void a_fork_under_another_salt_is_an_error_without_caching_too() {
        KvCacheManager cache = uncached(9, 4);
        TokenSequence parent = sequence(4, range(0, 7));
        admitted(cache, parent);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> forked(cache, parent, sequence(4, new ExtraKeys("lo", null), range(0, 7))))
                .withMessage("the child has another salt, adapter, media or seed than its parent");
        var seeded = new TokenSequence(new HashSettings(HashSettings.SHA256_CBOR, "1", 4), ExtraKeys.NONE, range(0, 7));
        assertThatIllegalArgumentException().isThrownBy(() -> forked(cache, parent, seeded));
    }

    @Test
    void keys_of_settled_tokens_that_a_fork_gave_outlive_the_next_step() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence parent = sequence(4, range(0, 5));
        admitted(cache, parent);
        parent.expect(2);
        assertThat(cache.extend(parent, 2)).isTrue();                 // 6 and 7 are drawn on the device
        settle(cache, parent);
        parent.append(6);
        parent.append(7);
        parent.append(8);
        assertThat(keyed(cache)).as("its tokens were not known").containsExactly(1);
        TokenSequence child = parent.fork();
        assertThat(forked(cache, parent, child)).isTrue();
        assertThat(keyed(cache)).containsExactly(1, 2);
        settle(cache, child);
        grow(cache, child, 20, 21, 22);                               // a third block, built on the second
        settle(cache, child);
        cache.drainChanges();

        assertThat(cache.extend(parent, 1)).isTrue();
        cache.withdraw(parent);                                       // only this step fails
        cache.release(parent);

        assertThat(cache.drainChanges()).as("what the child built on was computed").isEmpty();
        assertThat(keyed(cache)).containsExactly(1, 2, 3);
        assertThat(hitTokens(cache, new int[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 22, 23})).isEqualTo(12);
        cache.checkIntegrity(List.of(child));
    }

    @Test
    @DisplayName("K36: swap")
    void blocks_go_to_host_memory_and_come_back_to_others() {
        var cache = new KvCacheManager(
                KvCacheSettings.of(7, 4).withPrefixCaching(false).withHostBlockCount(4));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        a.append(10);
        assertThat(table(a)).containsExactly(1, 2, 3);

        assertThat(cache.swapOut(a)).isTrue();
        assertThat(copies(cache)).containsExactly("TO_HOST 1->0", "TO_HOST 2->1", "TO_HOST 3->2");
        assertThat(cache.freeBlocks()).isEqualTo(6);
        assertThat(cache.freeHostBlocks()).isEqualTo(1);
        assertThat(a.table().blockCount()).isZero();
        cache.copies().clear();

        PrefixHit hit = cache.match(a);
        assertThat(cache.resumableTokens(a, hit)).isEqualTo(10);
        assertThat(cache.admit(a, hit, 1)).isTrue();
        assertThat(copies(cache)).containsExactly("TO_DEVICE 0->3", "TO_DEVICE 1->2", "TO_DEVICE 2->1");
        assertThat(table(a)).containsExactly(3, 2, 1);
        assertThat(a.computedTokens()).isEqualTo(11);
        assertThat(cache.freeBlocks()).isEqualTo(3);
        assertThat(cache.freeHostBlocks()).isEqualTo(4);
        assertThat(cache.swappedOutBlocks()).isEqualTo(3);
        assertThat(cache.swappedInBlocks()).isEqualTo(3);
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void what_is_still_cached_is_not_copied_back() {
        var cache = new KvCacheManager(KvCacheSettings.of(7, 4).withHostBlockCount(4));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        a.append(10);
        cache.swapOut(a);
        TokenSequence stranger = sequence(4, range(100, 119));        // takes 3, 4, 5, 6 and evicts block 2
        admitted(cache, stranger);
        assertThat(table(stranger)).containsExactly(3, 4, 5, 6, 2);
        cache.release(stranger);
        cache.copies().clear();

        PrefixHit hit = cache.match(a);
        assertThat(hit.tokenCount()).isEqualTo(4);
        assertThat(cache.resumableTokens(a, hit)).isEqualTo(10);
        assertThat(cache.admit(a, hit, 1)).isTrue();

        assertThat(table(a)).containsExactly(1, 2, 6);
        assertThat(copies(cache)).containsExactly("TO_DEVICE 1->2", "TO_DEVICE 2->6");
        assertThat(cache.freeHostBlocks()).isEqualTo(4);
        assertThat(cache.pool().isKeyed(2)).as("what comes back is cached again").isTrue();
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void swapping_out_is_refused_where_host_memory_is_short_and_then_changes_nothing() {
        var cache = new KvCacheManager(KvCacheSettings.of(7, 4).withHostBlockCount(2));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        assertThat(cache.swapOut(a)).isFalse();
        assertThat(table(a)).containsExactly(1, 2, 3);
        assertThat(copies(cache)).isEmpty();
        assertThat(cache.freeHostBlocks()).isEqualTo(2);

        KvCacheManager none = cache(7, 4);
        TokenSequence b = sequence(4, range(0, 9));
        admitted(none, b);
        assertThat(none.swapOut(b)).isFalse();
        assertThatIllegalStateException().isThrownBy(() -> none.swapOut(sequence(4, 1)));
    }

    @Test
    void a_swapped_copy_is_dropped_once_and_with_its_sequence() {
        var cache = new KvCacheManager(KvCacheSettings.of(7, 4).withHostBlockCount(4).withPrefixCaching(false));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        a.append(10);
        cache.swapOut(a);
        cache.dropSwapped(a);
        cache.dropSwapped(a);
        assertThat(cache.freeHostBlocks()).isEqualTo(4);
        assertThat(cache.resumableTokens(a, cache.match(a))).isZero();

        admitted(cache, a);
        cache.swapOut(a);
        cache.release(a);
        cache.release(a);
        assertThat(cache.freeHostBlocks()).isEqualTo(4);
        cache.checkIntegrity(List.of());
    }

    @Test
    void a_reset_forgets_what_lies_in_swap_space() {
        var cache = new KvCacheManager(KvCacheSettings.of(7, 4).withHostBlockCount(6));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        cache.swapOut(a);
        TokenSequence b = sequence(4, range(20, 29));
        admitted(cache, b);
        assertThat(cache.resetPrefixCache()).isFalse();
        assertThat(a.swappedTokens()).isEqualTo(9);
        cache.swapOut(b);
        cache.copies().clear();

        assertThat(cache.resetPrefixCache()).isTrue();

        assertThat(cache.freeHostBlocks()).isEqualTo(6);
        assertThat(cache.resumableTokens(a, cache.match(a))).isZero();
        assertThat(cache.drainChanges()).containsExactly(new BlockChange.Cleared());
        assertThat(cache.admit(a, cache.match(a), 4)).isTrue();
        assertThat(copies(cache)).isEmpty();
        assertThat(cache.pool().keyCount(0)).as("only what is computed again").isEqualTo(1);
        cache.dropSwapped(b);
        assertThat(cache.freeHostBlocks()).isEqualTo(6);
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void only_what_a_window_still_sees_is_swapped() {
        var cache = new KvCacheManager(KvCacheSettings.of(21, 4).withHostBlockCount(8).withPrefixCaching(false)
                .withGroups(new FullAttention(), new SlidingWindow(5)));
        TokenSequence a = sequence(4, range(0, 9));
        admitted(cache, a);
        settle(cache, a);
        a.append(10);

        assertThat(cache.swapOut(a)).isTrue();
        assertThat(copies(cache)).containsExactly("TO_HOST 1->0", "TO_HOST 2->1", "TO_HOST 3->2",
                "TO_HOST 5->3", "TO_HOST 6->4");
        cache.copies().clear();

        assertThat(cache.admit(a, cache.match(a), 1)).isTrue();
        assertThat(table(a, 1)[0]).isEqualTo(BlockPool.NULL_BLOCK);
        assertThat(copies(cache)).hasSize(5);
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void a_victim_that_gives_its_step_back_keeps_what_was_settled() {
        var cache = new KvCacheManager(KvCacheSettings.of(9, 4).withHostBlockCount(4));
        TokenSequence a = sequence(4, range(0, 11));
        cache.admit(a, cache.match(a), 5);
        settle(cache, a);
        assertThat(cache.extend(a, 7)).isTrue();                      // in the step that is being made
        assertThat(keyed(cache)).containsExactly(1, 2, 3);

        cache.withdraw(a);
        assertThat(a.computedTokens()).isEqualTo(5);
        assertThat(keyed(cache)).containsExactly(1);
        assertThat(cache.swapOut(a)).isTrue();

        assertThat(copies(cache)).containsExactly("TO_HOST 1->0", "TO_HOST 2->1");
        assertThat(cache.drainChanges()).hasSize(1);
        assertThat(cache.announcedCount()).isEqualTo(1);
        cache.checkIntegrity(List.of());
    }

    @Test
    void two_steps_in_flight_are_withdrawn_together_back_to_the_settled_one() {
        KvCacheManager cache = cache(9, 4);
        TokenSequence a = sequence(4, range(0, 15));
        cache.admit(a, cache.match(a), 4);
        int computed = a.computedTokens();
        long events = cache.eventCount();
        cache.extend(a, 4);
        cache.settle(a, computed);
        assertThat(cache.drainChanges(events)).hasSize(1);
        assertThat(cache.announcedCount()).as("the second step is in flight").isEqualTo(1);
        cache.extend(a, 4);
        assertThatIllegalArgumentException().isThrownBy(() -> cache.settle(a, 13)).withMessageContaining("13");
        assertThatIllegalArgumentException().isThrownBy(() -> cache.settle(a, 3)).withMessageContaining("3");

        cache.withdraw(a);
        cache.release(a);

        assertThat(cache.drainChanges()).isEmpty();
        assertThat(hitTokens(cache, range(0, 15))).isEqualTo(4);
        cache.checkIntegrity(List.of());
    }

    private static KvCacheManager uncached(int blockCount, int blockSize) {
        return new KvCacheManager(KvCacheSettings.of(blockCount, blockSize).withPrefixCaching(false));
    }
}
