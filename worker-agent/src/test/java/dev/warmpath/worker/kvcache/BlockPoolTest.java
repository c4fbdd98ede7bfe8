package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NO_BLOCK;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.block.BlockHashChain;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BlockPoolTest {

    private static final int BLOCK_SIZE = 4;
    private static final int[] TOKENS = range(0, 7);
    private static final BlockHashChain CHAIN = chainOf(TOKENS);

    private final KvEventLog log = new KvEventLog(0);
    private final BlockPool pool = new BlockPool(KvCacheSettings.of(4, BLOCK_SIZE), FreeOrder.UNKEYED_FIRST, log);
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
        assertThat(pool.keyCount()).isEqualTo(1);
        assertThat(pool.unkey(1)).isTrue();
        assertThat(found(0)).isEqualTo(2);
        assertThat(pool.unkey(1)).as("has none any more").isFalse();
        assertThat(found(0)).as("the other's key stays").isEqualTo(2);
        assertThat(pool.unkey(2)).isTrue();
        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.keyCount()).isZero();
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

        assertThat(pool.keyCount()).isEqualTo(1);
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
        pool.hashes[BlockHashChain.WORDS_PER_HASH] ^= 1;              // first word of block 1: the key stays

        assertThat(found(0)).isEqualTo(NO_BLOCK);
        assertThat(pool.collisions()).isEqualTo(1);
    }

    @Test
    void equal_hashes_with_unequal_tokens_are_a_miss_only_where_tokens_are_verified() {
        var trusting = new BlockPool(KvCacheSettings.of(4, BLOCK_SIZE).withVerifyTokens(false),
                FreeOrder.UNKEYED_FIRST, log);
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

    private int found(int index) {
        return pool.find(CHAIN, index, TOKENS, 0);
    }

    private static BlockHashChain chainOf(int[] tokens) {
        TokenSequence sequence = sequence(BLOCK_SIZE, tokens);
        sequence.hash();
        return sequence.chain();
    }
}
