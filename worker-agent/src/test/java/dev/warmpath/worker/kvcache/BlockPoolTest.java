package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NO_BLOCK;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.block.BlockHashChain;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BlockPoolTest {

    private static final int BLOCK_SIZE = 4;
    private static final int[] TOKENS = range(0, 7);
    private static final BlockHashChain CHAIN = chainOf(TOKENS);

    private final KvEventLog log = new KvEventLog(0);
    private final BlockPool pool = new BlockPool(KvCacheSettings.of(4, BLOCK_SIZE), log);
    private final BlockTable table = new BlockTable(BLOCK_SIZE);

    @Test
    @DisplayName("K1: a new pool")
    void block_0_is_the_null_block_and_all_others_are_free() {
        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
        assertThat(pool.freeCount()).isEqualTo(3);
        assertThat(new KvCacheManager(KvCacheSettings.of(4, BLOCK_SIZE)).usage()).isEqualTo(0.0);
    }

    @Test
    @DisplayName("K1: more than there is")
    void asking_for_more_blocks_than_are_free_is_an_error_and_changes_nothing() {
        assertThatIllegalStateException().isThrownBy(() -> pool.allocate(4, table))
                .withMessage("4 blocks wanted, 3 are free");

        assertThat(table.blockCount()).isZero();
        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
        pool.checkIntegrity();
    }

    @Test
    @DisplayName("K6: two blocks under one key")
    void the_eldest_block_under_a_key_is_found_until_it_loses_the_key() {
        pool.allocate(2, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);
        pool.key(2, CHAIN, 0, TOKENS, 0);

        assertThat(found(0)).isEqualTo(1);
        assertThat(pool.keyCount(0)).isEqualTo(1);
        assertThat(pool.unkey(1)).isTrue();
        assertThat(found(0)).isEqualTo(2);
        assertThat(pool.unkey(1)).as("has none any more").isFalse();
        assertThat(found(0)).as("the other's key stays").isEqualTo(2);
        assertThat(pool.unkey(2)).isTrue();
        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.keyCount(0)).isZero();
    }

    @Test
    void a_younger_copy_can_leave_from_between_its_siblings() {
        pool.allocate(3, table);
        for (int block = 1; block <= 3; block++) {
            pool.key(block, CHAIN, 0, TOKENS, 0);
        }
        pool.unkey(2);
        pool.checkIntegrity();
        pool.unkey(1);

        assertThat(found(0)).isEqualTo(3);
        pool.checkIntegrity();
    }

    @Test
    void a_block_takes_one_key_only_and_only_while_it_is_held() {
        pool.allocate(1, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);

        assertThatIllegalStateException().isThrownBy(() -> pool.key(1, CHAIN, 1, TOKENS, 0))
                .withMessageContaining("block 1");
        assertThatIllegalStateException().isThrownBy(() -> pool.key(3, CHAIN, 1, TOKENS, 0))
                .withMessageContaining("block 3");

        assertThat(pool.keyCount(0)).isEqualTo(1);
    }

    @Test
    void releasing_a_block_that_is_not_held_is_an_error_and_changes_nothing() {
        pool.allocate(2, table);
        var forged = new BlockTable(BLOCK_SIZE);
        forged.add(1);
        forged.add(3);

        assertThatIllegalStateException().isThrownBy(() -> pool.release(forged))
                .withMessage("block 3 is not held");

        assertThat(pool.references(1)).isEqualTo(1);
        assertThat(pool.freeListing()).containsExactly(3);
    }

    @Test
    void the_null_block_in_a_table_is_neither_held_nor_freed() {
        table.add(BlockPool.NULL_BLOCK);
        pool.touch(BlockPool.NULL_BLOCK);
        pool.allocate(1, table);
        pool.release(table);

        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
        pool.checkIntegrity();
    }

    @Test
    void equal_keys_with_unequal_hashes_are_a_miss_and_count_as_a_collision() {
        pool.allocate(1, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);
        pool.keys().hashes[BlockHashChain.WORDS_PER_HASH] ^= 1;              // first word of block 1: the key stays

        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.collisions()).isEqualTo(1);
    }

    @Test
    void equal_hashes_with_unequal_tokens_are_a_miss_only_where_tokens_are_verified() {
        var trusting = new BlockPool(KvCacheSettings.of(4, BLOCK_SIZE).withVerifyTokens(false), log);
        int[] others = range(50, 57);
        for (var each : new BlockPool[] {pool, trusting}) {
            var row = new BlockTable(BLOCK_SIZE);
            each.allocate(1, row);
            each.key(1, CHAIN, 0, others, 0);
        }

        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.collisions()).isEqualTo(1);
        assertThat(trusting.find(CHAIN, 0, TOKENS, 0)).isEqualTo(1);
        assertThat(trusting.collisions()).isZero();
    }

    @Test
    void behind_a_collision_the_right_copy_is_still_found() {
        pool.allocate(2, table);
        pool.key(1, CHAIN, 0, range(50, 57), 0);
        pool.key(2, CHAIN, 0, TOKENS, 0);

        assertThat(found(0)).isEqualTo(2);
    }

    @Test
    @DisplayName("K5: two copies go their own ways")
    void copies_under_one_key_keep_the_order_of_their_keys_whatever_their_place_in_the_queue() {
        pool.allocate(3, table);
        pool.key(3, CHAIN, 0, TOKENS, 0);
        pool.key(1, CHAIN, 0, TOKENS, 0);
        pool.release(table);

        assertThat(pool.freeListing()).containsExactly(2, 3, 1);
        assertThat(found(0)).isEqualTo(3);
        pool.touch(1);
        pool.allocate(2, table);                                      // takes 2 and the older copy

        assertThat(found(0)).isEqualTo(1);
        assertThat(log.entries()).extracting(KvEventLog.Entry::kind)
                .containsExactly(KvEventLog.Kind.STORED, KvEventLog.Kind.STORED, KvEventLog.Kind.REMOVED);
        pool.checkIntegrity();
    }

    @Test
    void a_key_may_go_from_a_block_in_use_which_stays_in_use() {
        pool.allocate(1, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);

        assertThat(pool.unkey(1)).isTrue();

        assertThat(pool.references(1)).isEqualTo(1);
        pool.release(table);
        assertThat(pool.freeListing()).as("without a key: to the head").containsExactly(1, 2, 3);
    }

    @Test
    void blocks_that_do_not_exist_have_no_key_to_lose() {
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> pool.unkey(4));
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> pool.unkey(-1));
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> pool.touch(4));
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> pool.release(4));

        assertThat(pool.unkey(BlockPool.NULL_BLOCK)).isFalse();
        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
    }

    @Test
    void one_block_released_twice_is_an_error_and_changes_nothing() {
        int block = pool.allocate();
        pool.touch(block);
        pool.release(block);
        pool.release(block);

        assertThatIllegalStateException().isThrownBy(() -> pool.release(1)).withMessage("block 1 is not held");
        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
        pool.release(BlockPool.NULL_BLOCK);
        assertThat(pool.freeListing()).containsExactly(1, 2, 3);
    }

    @Test
    @DisplayName("K3: both free orders")
    void keyed_blocks_go_to_the_tail_and_others_by_the_free_order() {
        assertThat(queueAfterRelease(FreeOrder.UNKEYED_FIRST, true)).containsExactly(4, 3, 5, 2, 1);
        assertThat(queueAfterRelease(FreeOrder.RELEASE_ORDER, true)).containsExactly(5, 4, 3, 2, 1);
    }

    @Test
    @DisplayName("K15: without caching the last released are the next taken")
    void without_caching_every_block_goes_to_the_head_in_either_order() {
        assertThat(queueAfterRelease(FreeOrder.UNKEYED_FIRST, false)).containsExactly(4, 3, 2, 1, 5);
        assertThat(queueAfterRelease(FreeOrder.RELEASE_ORDER, false)).containsExactly(4, 3, 2, 1, 5);
    }

    /** Of 5 blocks, 4 are taken, the first two get keys if there is caching, and all released. */
    private static int[] queueAfterRelease(FreeOrder order, boolean caching) {
        var pool = new BlockPool(
                KvCacheSettings.of(6, BLOCK_SIZE).withPrefixCaching(caching).withFreeOrder(order), new KvEventLog(0));
        var table = new BlockTable(BLOCK_SIZE);
        pool.allocate(4, table);
        for (int block = 1; caching && block <= 2; block++) {
            pool.key(block, CHAIN, block - 1, TOKENS, 0);
        }
        pool.release(table);
        pool.checkIntegrity();
        return pool.freeListing();
    }

    @Test
    void a_part_of_a_table_is_released_from_its_end_and_the_table_left_to_the_caller() {
        pool.allocate(3, table);
        pool.key(3, CHAIN, 0, TOKENS, 0);

        pool.release(table, 0, 2);

        assertThat(pool.freeListing()).containsExactly(2, 1);
        assertThat(table.toArray()).containsExactly(1, 2, 3);
        assertThat(pool.references(3)).isEqualTo(1);
    }

    @Test
    void groups_share_the_pool_but_not_their_keys() {
        pool.allocate(3, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);
        pool.key(2, CHAIN, 0, TOKENS, 1);
        pool.key(3, CHAIN, 1, TOKENS, 1);

        assertThat(pool.find(CHAIN, 0, TOKENS, 0)).isEqualTo(1);
        assertThat(pool.find(CHAIN, 0, TOKENS, 1)).isEqualTo(2);
        assertThat(pool.find(CHAIN, 1, TOKENS, 0)).isEqualTo(NO_BLOCK);
        assertThat(pool.keyCount(0)).isEqualTo(1);
        assertThat(pool.keyCount(1)).isEqualTo(2);
        assertThat(pool.keysOf(1)).containsExactlyInAnyOrder(CHAIN.key(0), CHAIN.key(1));
        assertThat(pool.collisions()).isZero();
        pool.checkIntegrity();
        pool.unkey(1);
        assertThat(pool.find(CHAIN, 0, TOKENS, 1)).isEqualTo(2);
    }

    @Test
    @DisplayName("K23: reset")
    void a_reset_waits_for_the_last_holder_forgets_all_keys_and_keeps_the_queue() {
        pool.allocate(2, table);
        pool.key(1, CHAIN, 0, TOKENS, 0);
        assertThat(pool.reset()).isFalse();
        assertThat(pool.keyCount(0)).isEqualTo(1);
        pool.release(table);

        assertThat(pool.reset()).isTrue();

        assertThat(pool.keyCount(0)).isZero();
        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.freeListing()).containsExactly(2, 3, 1);
        assertThat(log.entries().getLast().kind()).isEqualTo(KvEventLog.Kind.CLEARED);
        pool.checkIntegrity();
    }

    @Test
    void more_blocks_than_their_hashes_can_be_kept_of_are_refused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new BlockKeys(KvCacheSettings.of(1 << 30, 1).withVerifyTokens(false)))
                .withMessage("1073741824 blocks have 4294967296 words of hash, at most 2147483639 can be kept");
    }

    private int found(int index) {
        return pool.find(CHAIN, index, TOKENS, 0);
    }

    private static BlockHashChain chainOf(int[] tokens) {
        TokenSequence sequence = sequence(BLOCK_SIZE, tokens);
        sequence.hash();
        return sequence.chain();
    }
}
