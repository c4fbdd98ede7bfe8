package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.cache;
import static dev.warmpath.worker.kvcache.Sequences.concat;
import static dev.warmpath.worker.kvcache.Sequences.grow;
import static dev.warmpath.worker.kvcache.Sequences.keyed;
import static dev.warmpath.worker.kvcache.Sequences.queue;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.references;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static dev.warmpath.worker.kvcache.Sequences.table;
import static dev.warmpath.worker.kvcache.Sequences.times;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The figures of every numbered scenario were produced by vLLM's own code. */
class KvCacheManagerTest {

    private static final int[] COMMON = concat(times(16, 0), times(16, 1), times(16, 2));

    @Test
    @DisplayName("K3: a prompt that three others share")
    void full_blocks_are_shared_while_held_and_found_again_after_release() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence r0 = sequence(16, concat(COMMON, times(7, 3)));

        assertThat(admitted(cache, r0)).isZero();
        assertThat(table(r0)).containsExactly(1, 2, 3, 4);
        assertThat(r0.chain().blockCount()).isEqualTo(3);
        assertThat(keyed(cache)).containsExactly(1, 2, 3);
        assertThat(references(cache, 1, 2, 3, 4)).containsExactly(1, 1, 1, 1);

        TokenSequence r1 = sequence(16, concat(COMMON, times(5, 4)));
        assertThat(admitted(cache, r1)).isEqualTo(48);
        assertThat(table(r1)).containsExactly(1, 2, 3, 5);
        assertThat(references(cache, 1, 2, 3)).containsExactly(2, 2, 2);
        assertThat(cache.freeBlocks()).isEqualTo(5);

        cache.release(r0);
        cache.release(r1);
        assertThat(queue(cache)).containsExactly(5, 4, 6, 7, 8, 9, 10, 3, 2, 1);

        TokenSequence r2 = sequence(16, concat(COMMON, times(6, 5)));
        assertThat(admitted(cache, r2)).isEqualTo(48);
        assertThat(table(r2)).containsExactly(1, 2, 3, 5);
        assertThat(cache.freeBlocks()).isEqualTo(6);

        cache.release(r2);
        TokenSequence r3 = sequence(16, times(160, 99));
        assertThat(admitted(cache, r3)).isZero();
        assertThat(table(r3)).containsExactly(5, 4, 6, 7, 8, 9, 10, 3, 2, 1);
        assertThat(cache.freeBlocks()).isZero();
        assertThat(cache.stats().evictedBlocks()).as("3, 2 and 1 had keys").isEqualTo(3);
        cache.checkIntegrity(List.of(r3));
    }

    @Test
    @DisplayName("K3: the older free order")
    void in_release_order_a_block_without_a_key_queues_behind_the_unused_ones() {
        var cache = new KvCacheManager(KvCacheSettings.of(11, 16).withFreeOrder(FreeOrder.RELEASE_ORDER));
        TokenSequence r0 = sequence(16, concat(COMMON, times(7, 3)));
        TokenSequence r1 = sequence(16, concat(COMMON, times(5, 4)));
        admitted(cache, r0);
        assertThat(admitted(cache, r1)).isEqualTo(48);

        cache.release(r0);
        cache.release(r1);

        assertThat(queue(cache)).containsExactly(6, 7, 8, 9, 10, 4, 5, 3, 2, 1);
        cache.checkIntegrity(List.of());
    }

    @Test
    @DisplayName("K4: free order of partial and full blocks")
    void partial_blocks_are_reused_first_and_full_ones_from_the_leaf_up() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence r0 = sequence(16, range(0, 86));
        TokenSequence r1 = sequence(16, range(87, 134));
        admitted(cache, r0);
        admitted(cache, r1);
        assertThat(queue(cache)).containsExactly(10);

        cache.release(r0);
        assertThat(queue(cache)).containsExactly(6, 10, 5, 4, 3, 2, 1);
        cache.release(r1);
        assertThat(queue(cache)).containsExactly(6, 10, 5, 4, 3, 2, 1, 9, 8, 7);

        TokenSequence r2 = sequence(16, range(0, 34));
        assertThat(admitted(cache, r2)).isEqualTo(32);
        assertThat(table(r2)).containsExactly(1, 2, 6);
        assertThat(queue(cache)).containsExactly(10, 5, 4, 3, 9, 8, 7);
        assertThat(cache.usage()).isEqualTo(0.3, within(1e-12));
    }

    @Test
    @DisplayName("K5 and K26: the last-token rule makes a duplicate; the announced set knows nothing of it")
    void a_fully_cached_prompt_recomputes_its_last_block_beside_the_cached_one() {
        KvCacheManager cache = cache(8, 4);
        TokenSequence a = sequence(4, range(0, 15));
        admitted(cache, a);
        cache.release(a);
        assertThat(queue(cache)).containsExactly(5, 6, 7, 4, 3, 2, 1);

        TokenSequence b = sequence(4, range(0, 15));
        assertThat(admitted(cache, b)).isEqualTo(12);
        assertThat(table(b)).containsExactly(1, 2, 3, 5);
        assertThat(queue(cache)).containsExactly(6, 7, 4);
        assertThat(keyed(cache)).containsExactly(1, 2, 3, 4, 5);
        assertThat(cache.pool().keyCount(0)).isEqualTo(4);

        cache.release(b);
        assertThat(queue(cache)).containsExactly(6, 7, 4, 5, 3, 2, 1);
        assertThat(hitBlocks(cache, range(0, 16))).containsExactly(1, 2, 3, 4);

        assertThat(cache.log().entries()).extracting(KvEventLog.Entry::block).containsExactly(1, 2, 3, 4, 5);
        assertThat(cache.log().entries().getLast().number()).isEqualTo(4);
        assertThat(cache.drainChanges()).containsExactly(stored(key(a, 0), key(a, 1), key(a, 2), key(a, 3)));

        TokenSequence stranger = sequence(4, range(100, 119));
        admitted(cache, stranger);
        assertThat(table(stranger)).containsExactly(6, 7, 4, 5, 3);
        assertThat(cache.stats().evictedBlocks()).isEqualTo(3);
        assertThat(cache.log().entries()).filteredOn(e -> e.kind() == KvEventLog.Kind.REMOVED)
                .extracting(KvEventLog.Entry::key).containsExactly(key(a, 3), key(a, 3), key(a, 2));
        assertThat(cache.drainChanges()).containsExactly(
                removed(key(a, 3), key(a, 2)),
                stored(key(stranger, 0), key(stranger, 1), key(stranger, 2), key(stranger, 3), key(stranger, 4)));
        assertThat(cache.match(sequence(4, range(0, 16))).tokenCount()).isEqualTo(8);
        cache.checkIntegrity(List.of(stranger));
    }

    @Test
    @DisplayName("K7: decoding fills blocks")
    void a_block_gets_its_key_when_generated_tokens_have_filled_it() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence sequence = sequence(16, range(0, 54));
        admitted(cache, sequence);
        assertThat(table(sequence)).containsExactly(1, 2, 3, 4);

        grow(cache, sequence, range(55, 58));
        assertThat(table(sequence)).containsExactly(1, 2, 3, 4);
        assertThat(keyed(cache)).containsExactly(1, 2, 3);

        grow(cache, sequence, range(59, 77));
        assertThat(table(sequence)).containsExactly(1, 2, 3, 4, 5);
        assertThat(keyed(cache)).containsExactly(1, 2, 3, 4);
    }

    @Test
    @DisplayName("K8: not enough blocks")
    void an_admission_that_is_refused_touches_nothing() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence r0 = sequence(16, COMMON);
        admitted(cache, r0);
        TokenSequence r1 = sequence(16, concat(COMMON, COMMON));
        assertThat(admitted(cache, r1)).isEqualTo(48);
        assertThat(table(r1)).containsExactly(1, 2, 3, 4, 5, 6);
        cache.release(r1);
        assertThat(queue(cache)).containsExactly(7, 8, 9, 10, 6, 5, 4);
        TokenSequence r2 = sequence(16, range(500, 531));
        admitted(cache, r2);
        assertThat(table(r2)).containsExactly(7, 8);
        assertThat(queue(cache)).containsExactly(9, 10, 6, 5, 4);

        TokenSequence r3 = sequence(16, concat(COMMON, COMMON, COMMON));
        PrefixHit hit = cache.match(r3);
        assertThat(hit.toArray(0)).containsExactly(1, 2, 3, 4, 5, 6);
        assertThat(cache.admit(r3, hit, 48)).isFalse();

        assertThat(table(r3)).isEmpty();
        assertThat(r3.computedTokens()).isZero();
        assertThat(references(cache, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)).containsExactly(1, 1, 1, 0, 0, 0, 1, 1, 0, 0);
        assertThat(queue(cache)).containsExactly(9, 10, 6, 5, 4);
        assertThat(cache.stats().requests()).as("counted at admission").isEqualTo(3);
        cache.checkIntegrity(List.of(r0, r2));
    }

    @Test
    @DisplayName("K9: salts and adapters keep prefixes apart")
    void a_prefix_is_found_only_under_its_own_salt_and_adapter() {
        KvCacheManager cache = cache(64, 16);
        var s1 = ExtraKeys.ofSalt("s1");
        var lo = new ExtraKeys("lo", null);

        assertThat(List.of(
                hitTokens(cache, s1, 100), hitTokens(cache, s1, 200), hitTokens(cache, ExtraKeys.ofSalt("s2"), 300),
                hitTokens(cache, ExtraKeys.NONE, 400), hitTokens(cache, lo, 500), hitTokens(cache, lo, 600)))
                .containsExactly(0, 48, 0, 0, 0, 48);
    }

    @Test
    @DisplayName("K10: vLLM's hashes are what is announced")
    void two_blocks_of_sixteen_are_announced_under_vllms_keys() {
        KvCacheManager cache = cache(4, 16);
        admitted(cache, sequence(16, range(0, 31)));

        assertThat(cache.drainChanges()).containsExactly(stored(
                Long.parseUnsignedLong("12687895063098490012"), 1814341696565857452L));
    }

    @Test
    @DisplayName("K11: wide tokens")
    void wide_tokens_are_announced_under_vllms_keys() {
        KvCacheManager cache = cache(4, 4);
        admitted(cache, sequence(4, 128000, 23, 24, 255, 256, 65535, 65536, 151643));

        assertThat(cache.drainChanges()).containsExactly(stored(
                tail("bfbe0c7b683a1716473bf38c0c2f9b2c02d8a8ab3ebc2ba189d305051f766eff"),
                tail("4169efabc2be093cade3166d4acc97351a71b9213ba3148f19292b7f5eb1d492")));
    }

    @Test
    @DisplayName("K13: chunks")
    void a_prompt_in_chunks_is_cached_as_far_as_it_is_scheduled() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 17));

        assertThat(cache.admit(a, cache.match(a), 6)).isTrue();
        assertThat(table(a)).containsExactly(1, 2);
        assertThat(cache.pool().keyCount(0)).isEqualTo(1);
        assertThat(cache.match(sequence(4, range(0, 18))).tokenCount()).isEqualTo(4);

        assertThat(cache.extend(a, 6)).isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3);
        assertThat(cache.pool().keyCount(0)).isEqualTo(3);
        assertThat(cache.match(sequence(4, range(0, 18))).tokenCount()).isEqualTo(12);
    }

    @Test
    @DisplayName("K14: generated tokens")
    void generated_tokens_are_reusable() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence sequence = sequence(4, range(0, 5));
        admitted(cache, sequence);
        for (int token = 100; token <= 105; token++) {
            grow(cache, sequence, token);
        }
        assertThat(table(sequence)).containsExactly(1, 2, 3);
        assertThat(cache.pool().keyCount(0)).isEqualTo(3);

        cache.release(sequence);
        TokenSequence next = sequence(4, concat(range(0, 5), range(100, 105), range(7, 7)));
        assertThat(cache.match(next).tokenCount()).isEqualTo(12);
    }

    @Test
    @DisplayName("K15: caching off")
    void without_caching_blocks_are_reused_last_in_first_out_and_nothing_is_found() {
        var cache = new KvCacheManager(KvCacheSettings.of(7, 4).withPrefixCaching(false));
        TokenSequence a = sequence(4, range(0, 11));
        admitted(cache, a);
        assertThat(table(a)).containsExactly(1, 2, 3);
        cache.release(a);
        assertThat(queue(cache)).containsExactly(3, 2, 1, 4, 5, 6);

        TokenSequence b = sequence(4, range(0, 15));
        assertThat(admitted(cache, b)).isZero();
        assertThat(table(b)).containsExactly(3, 2, 1, 4);

        TokenSequence c = sequence(4, range(0, 11));
        assertThat(cache.admit(c, cache.match(c), 12)).isFalse();
        assertThat(cache.drainChanges()).isEmpty();
        cache.checkIntegrity(List.of(b));
    }

    @Test
    @DisplayName("K22: a hit refreshes")
    void a_prefix_that_was_hit_is_evicted_after_one_that_was_not() {
        KvCacheManager cache = cache(9, 4);
        TokenSequence a = sequence(4, range(0, 7));
        TokenSequence b = sequence(4, range(100, 107));
        admitted(cache, a);
        admitted(cache, b);
        cache.release(a);
        cache.release(b);
        assertThat(queue(cache)).containsExactly(5, 6, 7, 8, 2, 1, 4, 3);

        TokenSequence c = sequence(4, range(0, 8));
        assertThat(admitted(cache, c)).isEqualTo(8);
        assertThat(table(c)).containsExactly(1, 2, 5);
        cache.release(c);
        assertThat(queue(cache)).containsExactly(5, 6, 7, 8, 4, 3, 2, 1);

        TokenSequence stranger = sequence(4, range(200, 227));
        admitted(cache, stranger);
        assertThat(table(stranger)).containsExactly(5, 6, 7, 8, 4, 3, 2);
        assertThat(queue(cache)).containsExactly(1);
    }

    @Test
    void under_load_what_nobody_holds_is_forgotten_leaf_first_and_the_rest_stays() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence ended = sequence(16, range(0, 54));
        admitted(cache, ended);
        cache.release(ended);
        TokenSequence alive = sequence(16, range(0, 33));
        admitted(cache, alive);
        assertThat(keyed(cache)).containsExactly(1, 2, 3);
        cache.drainChanges();
        long third = ended.chain(16).key(2);

        assertThat(cache.forgetUnheld()).isEqualTo(1);
        assertThat(keyed(cache)).containsExactly(1, 2);
        assertThat(cache.drainChanges()).hasSize(1).first().isInstanceOfSatisfying(BlockChange.Removed.class,
                removed -> assertThat(removed.keys()).containsExactly(third));
        assertThat(cache.forgetUnheld()).as("once more").isZero();
        assertThat(cache.drainChanges()).isEmpty();

        cache.release(alive);
        assertThat(cache.forgetUnheld()).isEqualTo(2);
        cache.drainChanges();
        assertThat(cache.announcedCount()).isZero();
        cache.checkIntegrity(List.of());
    }

    @Test
    @DisplayName("K23: reset")
    void a_reset_is_refused_while_blocks_are_held_and_then_forgets_everything() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence sequence = sequence(16, range(0, 54));
        admitted(cache, sequence);
        cache.drainChanges();

        assertThat(cache.resetPrefixCache()).isFalse();
        assertThat(keyed(cache)).containsExactly(1, 2, 3);
        assertThat(cache.drainChanges()).isEmpty();

        cache.release(sequence);
        assertThat(cache.resetPrefixCache()).isTrue();
        assertThat(cache.pool().keyCount(0)).isZero();
        assertThat(queue(cache)).containsExactly(4, 5, 6, 7, 8, 9, 10, 3, 2, 1);
        assertThat(cache.drainChanges()).containsExactly(new BlockChange.Cleared());
        assertThat(cache.stats().resets()).isEqualTo(1);
        assertThat(cache.announcedCount()).isZero();
        cache.checkIntegrity(List.of());
    }

    @Test
    @DisplayName("K24: usage")
    void usage_counts_what_is_held_and_not_what_is_only_cached() {
        KvCacheManager cache = cache(5, 4);
        assertThat(cache.usage()).isEqualTo(0.0);
        TokenSequence sequence = sequence(4, range(0, 8));
        admitted(cache, sequence);
        assertThat(cache.usage()).isEqualTo(0.75);

        cache.release(sequence);
        assertThat(keyed(cache)).containsExactly(1, 2);
        assertThat(cache.usage()).isEqualTo(0.0);
    }

    @Test
    @DisplayName("K38: slots")
    void a_position_has_its_slot_in_the_block_of_its_table() {
        var table = new BlockTable(16);
        for (int block : new int[] {7, 3, 12}) {
            table.add(block);
        }

        assertThat(new int[] {table.slot(0), table.slot(15), table.slot(16), table.slot(47)})
                .containsExactly(112, 127, 48, 207);
    }

    @Test
    void keys_of_a_failed_step_are_withdrawn_and_never_announced() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 17));
        assertThat(cache.admit(a, cache.match(a), 9)).isTrue();
        settle(cache, a);
        cache.drainChanges();
        assertThat(cache.extend(a, 9)).isTrue();                      // fills blocks 2 and 3, then fails
        TokenSequence b = sequence(4, range(0, 18));
        assertThat(admitted(cache, b)).as("shares them within the step").isEqualTo(16);

        cache.withdraw(b);
        cache.withdraw(a);
        cache.release(b);
        cache.release(a);

        assertThat(cache.drainChanges()).isEmpty();
        assertThat(cache.announcedCount()).as("the two blocks of the step before").isEqualTo(2);
        assertThat(cache.match(sequence(4, range(0, 18))).tokenCount()).isEqualTo(8);
        cache.checkIntegrity(List.of());
    }

    @Test
    void a_hit_takes_the_settled_one_of_two_copies_and_outlives_the_failure_of_the_other() {
        KvCacheManager cache = cache(8, 4);
        TokenSequence failing = sequence(4, range(0, 3));
        TokenSequence a = sequence(4, range(0, 8));
        PrefixHit none = cache.match(a);
        assertThat(cache.admit(a, none, 3)).isTrue();                 // no key yet
        admitted(cache, failing);                                     // block 2 is the elder one, in flight for long
        assertThat(cache.extend(a, 6)).isTrue();                      // blocks 1, 3 and 4, with the same first key
        settle(cache, a);
        cache.release(a);

        TokenSequence b = sequence(4, range(0, 19));
        assertThat(cache.match(b).toArray(0)).containsExactly(1, 3);
        admitted(cache, b);
        cache.withdraw(b);
        cache.withdraw(failing);
        cache.release(b);
        cache.release(failing);

        assertThat(hitBlocks(cache, range(0, 8))).containsExactly(1, 3);
        assertThat(cache.drainChanges()).containsExactly(stored(key(a, 0), key(a, 1)));
        cache.checkIntegrity(List.of());
    }

    @Test
    @DisplayName("K21: the common prefix")
    void common_blocks_are_those_that_everyone_holds() {
        KvCacheManager cache = cache(21, 16);
        int[] shared = range(0, 31);
        TokenSequence a = sequence(16, concat(shared, range(100, 116)));
        admitted(cache, a);
        assertThat(cache.commonPrefixBlocks(a)).isEqualTo(4);

        TokenSequence b = sequence(16, concat(shared, range(200, 216)));
        admitted(cache, b);
        assertThat(cache.commonPrefixBlocks(a)).isEqualTo(2);
        assertThat(cache.commonPrefixBlocks(b)).isEqualTo(2);

        TokenSequence c = sequence(16, range(300, 316));
        admitted(cache, c);
        assertThat(cache.commonPrefixBlocks(a)).isZero();
        assertThat(cache.commonPrefixBlocks(c)).isZero();

        cache.release(c);
        assertThat(cache.commonPrefixBlocks(a)).isEqualTo(2);
        assertThat(cache.commonPrefixBlocks(c)).as("it holds none").isZero();
    }

    /** vLLM's events carry adapter, parent and tokens as well; ours carry keys only, whose hashes cover all three. */
    @Test
    @DisplayName("K25: an adapter's blocks come and go")
    void the_log_counts_copies_and_the_changes_name_keys() {
        KvCacheManager cache = cache(4, 16);
        TokenSequence a = sequence(16, new ExtraKeys("ad", null), range(0, 47));
        admitted(cache, a);
        assertThat(cache.log().entries()).extracting(KvEventLog.Entry::kind)
                .containsExactly(KvEventLog.Kind.STORED, KvEventLog.Kind.STORED, KvEventLog.Kind.STORED);
        assertThat(cache.drainChanges()).containsExactly(stored(key(a, 0), key(a, 1), key(a, 2)));
        assertThat(cache.drainChanges()).isEmpty();

        cache.release(a);
        TokenSequence stranger = sequence(16, range(100, 139));
        admitted(cache, stranger);
        assertThat(table(stranger)).containsExactly(3, 2, 1);
        assertThat(cache.log().entries()).extracting(KvEventLog.Entry::kind).containsExactly(
                KvEventLog.Kind.REMOVED, KvEventLog.Kind.REMOVED, KvEventLog.Kind.REMOVED,
                KvEventLog.Kind.STORED, KvEventLog.Kind.STORED);
        assertThat(cache.drainChanges()).containsExactly(
                removed(key(a, 2), key(a, 1), key(a, 0)), stored(key(stranger, 0), key(stranger, 1)));

        grow(cache, stranger, range(140, 147));
        assertThat(cache.drainChanges()).containsExactly(stored(key(stranger, 2)));
        assertThat(cache.eventCount()).isEqualTo(9);
    }

    @Test
    @DisplayName("K40: what counts as a query")
    void a_prompt_counts_when_admitted_and_not_at_all_if_it_skips_the_cached() {
        KvCacheManager cache = cache(21, 16);
        admitted(cache, sequence(16, range(0, 63)));
        assertThat(cache.stats()).isEqualTo(stats(1, 64, 0, 4, 0));

        TokenSequence second = sequence(16, range(0, 63));
        admitted(cache, second);
        assertThat(cache.stats()).isEqualTo(stats(2, 128, 48, 8, 3));
        assertThat(second.cachedTokens()).isEqualTo(48);
        assertThat(cache.recentHitRate()).isEqualTo(0.375);

        var third = new TokenSequence(HashSettings.ofBlockSize(16), ExtraKeys.NONE, range(0, 63), true);
        assertThat(admitted(cache, third)).isZero();
        assertThat(cache.stats()).isEqualTo(stats(2, 128, 48, 8, 3));
        assertThat(cache.pool().keyCount(0)).as("it writes all the same").isEqualTo(4);
        assertThat(cache.pool().isKeyed(third.table().block(0))).isTrue();
    }

    @Test
    void a_reset_begins_the_recent_hit_rate_anew() {
        KvCacheManager cache = cache(11, 4);
        for (int i = 0; i < 2; i++) {
            TokenSequence each = sequence(4, range(0, 7));
            admitted(cache, each);
            cache.release(each);
        }
        assertThat(cache.recentHitRate()).isEqualTo(0.25);

        cache.resetPrefixCache();

        assertThat(cache.recentHitRate()).isZero();
        assertThat(cache.stats().hitTokens()).as("totals only grow").isEqualTo(4);
    }

    @Test
    void a_drain_tells_removals_leaf_up_before_stores_parent_first() {
        KvCacheManager cache = cache(4, 4);
        TokenSequence a = sequence(4, range(0, 11));
        admitted(cache, a);
        cache.release(a);
        cache.drainChanges();
        TokenSequence b = sequence(4, range(50, 57));
        admitted(cache, b);

        assertThat(cache.drainChanges())
                .containsExactly(removed(key(a, 2), key(a, 1)), stored(key(b, 0), key(b, 1)));
        assertThat(cache.drainChanges()).isEmpty();
    }

    @Test
    void a_key_that_is_evicted_and_stored_again_before_the_drain_is_not_mentioned() {
        KvCacheManager cache = cache(3, 4);
        TokenSequence a = sequence(4, range(0, 7));
        admitted(cache, a);
        cache.release(a);
        cache.drainChanges();

        TokenSequence stranger = sequence(4, range(50, 57));
        admitted(cache, stranger);
        cache.release(stranger);
        TokenSequence again = sequence(4, range(0, 7));
        admitted(cache, again);

        assertThat(cache.log().entries()).hasSize(8);
        assertThat(cache.drainChanges()).isEmpty();
        cache.checkIntegrity(List.of(again));
    }

    @Test
    void a_match_is_void_after_the_cache_has_changed() {
        KvCacheManager cache = cache(8, 4);
        TokenSequence a = sequence(4, range(0, 3));
        TokenSequence b = sequence(4, range(0, 8));
        PrefixHit stale = cache.match(b);
        admitted(cache, a);

        assertThatIllegalStateException().isThrownBy(() -> cache.admit(b, stale, 9));
        assertThat(b.table().blockCount()).isZero();
    }

    @Test
    void a_sequence_without_blocks_has_nothing_to_settle_or_to_withdraw() {
        KvCacheManager cache = cache(8, 4);
        TokenSequence a = sequence(4, range(0, 8));
        PrefixHit hit = cache.match(a);

        assertThatIllegalStateException().isThrownBy(() -> cache.settle(a, 0))
                .withMessage("the sequence is not admitted: it holds no blocks");
        cache.withdraw(a);

        assertThat(cache.admit(a, hit, 9)).as("nothing changed").isTrue();
        cache.release(a);
        cache.withdraw(a);
        assertThat(keyed(cache)).containsExactly(1, 2);
        cache.checkIntegrity(List.of());
    }

    @Test
    void misuse_is_an_error_with_its_figures_and_changes_nothing() {
        KvCacheManager cache = cache(8, 4);
        TokenSequence sequence = sequence(4, range(0, 8));

        assertThatIllegalArgumentException().isThrownBy(() -> cache.match(sequence(16, 1)))
                .withMessage("the sequence is hashed in blocks of 16 tokens, the cache has blocks of 4");
        assertThatIllegalStateException().isThrownBy(() -> cache.extend(sequence, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> cache.admit(sequence, cache.match(sequence), 10))
                .withMessage("10 tokens to compute, 1 to 9 are possible");
        assertThatIllegalArgumentException().isThrownBy(() -> cache.admit(sequence, cache.match(sequence), 0));
        admitted(cache, sequence);
        assertThatIllegalStateException().isThrownBy(() -> cache.admit(sequence, cache.match(sequence), 1));
        cache.checkIntegrity(List.of(sequence));

        cache.release(sequence);
        cache.release(sequence);                                      // nothing held, nothing done
        cache.checkIntegrity(List.of());
    }

    @Test
    void impossible_settings_are_refused_with_their_figures() {
        assertThatIllegalArgumentException().isThrownBy(() -> KvCacheSettings.of(1, 16)).withMessageContaining("1");
        assertThatIllegalArgumentException().isThrownBy(() -> KvCacheSettings.of(2, 0)).withMessageContaining("0");
        assertThatIllegalArgumentException().isThrownBy(() -> KvCacheSettings.of(1 << 28, 16))
                .withMessageContaining("4294967296 slots");
        KvCacheSettings good = KvCacheSettings.of(8, 4);
        assertThatIllegalArgumentException().isThrownBy(() -> good.withGroups(List.of()))
                .withMessageContaining("at least one");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> good.withGroups(new SlidingWindow(8), new FullAttention()))
                .withMessageContaining("only the first");
        assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindow(0)).withMessageContaining("0");
        assertThatIllegalArgumentException().isThrownBy(() -> good.withMaxLength(0)).withMessageContaining("0");
        assertThatIllegalArgumentException().isThrownBy(() -> good.withWatermark(1)).withMessageContaining("1.0");
        assertThatIllegalArgumentException().isThrownBy(() -> good.withWatermark(Double.NaN))
                .withMessageContaining("NaN");
        assertThatIllegalArgumentException().isThrownBy(() -> good.withHostBlockCount(-1))
                .withMessageContaining("-1");
    }

    private static int[] hitBlocks(KvCacheManager cache, int[] tokens) {
        return cache.match(sequence(cache.blockSize(), tokens)).toArray(0);
    }

    /** Of 48 common tokens and 3 own ones. */
    private static int hitTokens(KvCacheManager cache, ExtraKeys extraKeys, int own) {
        return admitted(cache, sequence(16, extraKeys, concat(COMMON, range(own, own + 2))));
    }

    private static long key(TokenSequence sequence, int index) {
        return sequence.chain().key(index);
    }

    /** The last 8 of 32 bytes in hex. */
    private static long tail(String hash) {
        return Long.parseUnsignedLong(hash.substring(48), 16);
    }

    private static PrefixCacheStats stats(
            long requests, long queriedTokens, long hitTokens, long queriedBlocks, long hitBlocks) {
        return new PrefixCacheStats(requests, queriedTokens, hitTokens, queriedBlocks, hitBlocks, 0, 0, 0, 0, 0, 0);
    }

    private static BlockChange stored(long... keys) {
        return new BlockChange.Stored(Medium.DEVICE, keys);
    }

    private static BlockChange removed(long... keys) {
        return new BlockChange.Removed(Medium.DEVICE, keys);
    }
}
