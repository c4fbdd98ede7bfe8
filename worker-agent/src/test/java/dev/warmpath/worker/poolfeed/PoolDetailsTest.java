package dev.warmpath.worker.poolfeed;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.pool.BlockDetail;
import dev.warmpath.protocol.pool.BlockDetail.Holder;
import dev.warmpath.protocol.pool.BlockState;
import dev.warmpath.protocol.pool.RequestState;
import dev.warmpath.protocol.pool.RequestTables;
import dev.warmpath.protocol.pool.RequestTables.Choice;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PoolDetailsTest {

    @Test
    void a_prompt_that_begins_like_another_one_shares_its_full_blocks_and_has_a_last_block_of_its_own() {
        try (var rig = PoolRig.of(64, 256)) {
            rig.submit(PoolRig.request("first", 0, 40, 10));       // blocks 1 and 2 are full, 3 holds 8 tokens
            rig.step();
            rig.submit(PoolRig.request("second", 0, 40, 10));
            rig.step();

            Choice first = only(rig, "first");
            assertThat(first.groups().getFirst().blocks()).containsExactly(1, 2, 3);
            assertThat(first.groups().getFirst().references()).containsExactly(2, 2, 1);
            assertThat(first.groups().getFirst().keyed()).containsExactly(true, true, false);
            assertThat(first.groups().getFirst().window()).isNull();
            assertThat(first.state()).isEqualTo(RequestState.RUNNING);
            assertThat(first.cachedTokens()).isZero();
            assertThat(first.computedTokens()).isEqualTo(41);
            assertThat(first.drawnTokens()).isEqualTo(2);
            assertThat(first.scheduledTokens()).isEqualTo(1);
            Choice second = only(rig, "second");
            assertThat(second.groups().getFirst().blocks()).containsExactly(1, 2, 4);
            assertThat(second.cachedTokens()).isEqualTo(32);
            assertThat(second.scheduledTokens()).isEqualTo(8);

            BlockDetail shared = block(rig, 2);
            assertThat(shared.state()).isEqualTo(BlockState.SHARED);
            assertThat(shared.references()).isEqualTo(2);
            assertThat(shared.tokens()).isEqualTo(IntStream.range(16, 32).toArray());
            assertThat(shared.tokenCount()).isEqualTo(16);
            assertThat(shared.group()).isZero();
            assertThat(shared.hash()).hasSize(64).endsWith(shared.key());
            assertThat(shared.key()).hasSize(16);
            assertThat(shared.heldBy()).containsExactly(new Holder("first", 0, 1), new Holder("second", 0, 1));
        }
    }

    @Test
    void a_block_that_is_being_filled_has_the_tokens_that_are_computed_and_no_key() {
        try (var rig = PoolRig.of(64, 256)) {
            rig.submit(PoolRig.request("r", 0, 20, 10));
            rig.step();

            BlockDetail filling = block(rig, 2);
            assertThat(filling.state()).isEqualTo(BlockState.FILLING);
            assertThat(filling.key()).isNull();
            assertThat(filling.hash()).isNull();
            assertThat(filling.group()).isZero();
            assertThat(filling.tokenCount()).isEqualTo(4);
            assertThat(filling.tokens()).containsExactly(16, 17, 18, 19);
            assertThat(filling.heldBy()).containsExactly(new Holder("r", 0, 1));
            assertThat(block(rig, 1).state()).isEqualTo(BlockState.USED);
        }
    }

    @Test
    void a_cached_block_keeps_its_tokens_and_tells_how_long_it_has_lain_idle() {
        try (var rig = PoolRig.of(64, 256)) {
            rig.submit(PoolRig.request("r", 0, 20, 1));
            rig.step();
            rig.nowNanos += 5_000_000_000L;

            BlockDetail cached = block(rig, 1);
            assertThat(cached.state()).isEqualTo(BlockState.CACHED);
            assertThat(cached.references()).isZero();
            assertThat(cached.tokens()).isEqualTo(IntStream.range(0, 16).toArray());
            assertThat(cached.lastUseMsAgo()).isBetween(5_000L - 17, 5_000L);
            assertThat(cached.heldBy()).isEmpty();
            BlockDetail free = block(rig, 2);
            assertThat(free.state()).isEqualTo(BlockState.FREE);
            assertThat(free.tokenCount()).isZero();
            assertThat(free.group()).isNull();
            assertThat(block(rig, 9).lastUseMsAgo()).as("never used").isNull();
        }
    }

    @Test
    void without_verification_only_blocks_that_somebody_holds_have_tokens() {
        try (var rig = new PoolRig(KvCacheSettings.of(64, 16).withVerifyTokens(false),
                SchedulerSettings.of(256, 8, 8))) {
            rig.submit(PoolRig.request("r", 0, 20, 2));
            rig.step();
            assertThat(block(rig, 1).tokens()).isEqualTo(IntStream.range(0, 16).toArray());
            rig.step();
            assertThat(block(rig, 1).state()).isEqualTo(BlockState.CACHED);
            assertThat(block(rig, 1).tokens()).isNull();
            assertThat(block(rig, 1).tokenCount()).isEqualTo(16);
        }
    }

    @Test
    void a_prompt_that_is_computed_in_chunks_has_blocks_for_what_has_been_computed() {
        try (var rig = PoolRig.of(64, /* maxBatchedTokens */ 24)) {
            rig.submit(PoolRig.request("long", 0, 60, 10));
            rig.step();

            Choice partly = only(rig, "long");
            assertThat(partly.promptTokens()).isEqualTo(60);
            assertThat(partly.computedTokens()).isEqualTo(24);
            assertThat(partly.scheduledTokens()).isEqualTo(24);
            assertThat(partly.drawnTokens()).isZero();
            assertThat(partly.groups().getFirst().blocks()).containsExactly(1, 2);
            assertThat(partly.groups().getFirst().keyed()).containsExactly(true, false);
            assertThat(block(rig, 2).tokenCount()).isEqualTo(8);
        }
    }

    @Test
    void answers_to_one_prompt_are_told_apart_and_share_the_prompts_blocks() {
        try (var rig = PoolRig.of(64, 256)) {
            rig.submit(PoolRig.request("both", 0, 32, 10).withChoices(2));
            rig.step();
            rig.step();

            RequestTables tables = rig.look(books -> PoolDetails.request(books, "both"));
            assertThat(tables.choices().getFirst().groups().getFirst().blockSize()).isEqualTo(16);
            assertThat(tables.choices()).extracting(Choice::choice).containsExactly(0, 1);
            assertThat(tables.choices().getFirst().groups().getFirst().blocks()).startsWith(1, 2);
            assertThat(tables.choices().getLast().groups().getFirst().blocks()).startsWith(1);
            assertThat(block(rig, 1).heldBy()).containsExactly(new Holder("both", 0, 0), new Holder("both", 1, 0));
        }
    }

    @Test
    void a_preempted_request_has_no_blocks_and_a_swapped_one_has_them_in_swap_space() {
        for (int hostBlocks : new int[] {0, 16}) {
            try (var rig = new PoolRig(KvCacheSettings.of(/* blockCount */ 9, 16).withHostBlockCount(hostBlocks),
                    SchedulerSettings.of(256, 8, 8).withReserveWholeSequence(false))) {
                rig.submit(PoolRig.request("old", 0, 60, 60));
                rig.submit(PoolRig.request("young", 500, 60, 60));
                while (only(rig, "young").state() == RequestState.RUNNING
                        || only(rig, "young").drawnTokens() == 0) {
                    rig.step();
                }

                Choice young = only(rig, "young");
                assertThat(young.groups().getFirst().blocks()).isEmpty();
                assertThat(young.drawnTokens()).isPositive();
                assertThat(only(rig, "old").state()).isEqualTo(RequestState.RUNNING);
                if (hostBlocks == 0) {
                    assertThat(young.state()).isEqualTo(RequestState.WAITING);
                    assertThat(young.hostBlocks()).isEmpty();
                } else {
                    assertThat(young.state()).isEqualTo(RequestState.SWAPPED);
                    assertThat(young.hostBlocks()).hasSizeGreaterThanOrEqualTo(4).startsWith(0, 1, 2, 3);
                }
            }
        }
    }

    @Test
    void two_requests_of_one_id_are_both_found_and_none_is_null() {
        try (var rig = PoolRig.of(64, 256)) {
            String odd = "../ä %2F\"\n\u0000 𝄞";
            rig.submit(PoolRig.request(odd, 0, 20, 10));
            rig.submit(PoolRig.request(odd, 50, 20, 10));

            assertThat(rig.look(books -> PoolDetails.request(books, odd)).choices()).hasSize(2)
                    .allSatisfy(choice -> assertThat(choice.groups().getFirst().blocks()).isEmpty());
            assertThat(rig.engine.look(books -> PoolDetails.request(books, "other")).join()).isNull();
            assertThat(rig.engine.look(books -> PoolDetails.request(books, "")).join()).isNull();
        }
    }

    @Test
    void there_is_a_null_block_and_none_beyond_the_last() {
        try (var rig = PoolRig.of(64, 256)) {
            assertThat(block(rig, 0)).isEqualTo(
                    new BlockDetail(0, BlockState.NULL, 0, null, null, null, 0, null, null, List.of()));
            assertThat(block(rig, 63).state()).isEqualTo(BlockState.FREE);
            assertThat(block(rig, 64)).isNull();
            assertThat(block(rig, -1)).isNull();
            assertThat(block(rig, Integer.MAX_VALUE)).isNull();
        }
    }

    private static Choice only(PoolRig rig, String id) {
        List<Choice> choices = rig.look(books -> PoolDetails.request(books, id)).choices();
        assertThat(choices).hasSize(1);
        return choices.getFirst();
    }

    private static BlockDetail block(PoolRig rig, int block) {
        return rig.look(books -> PoolDetails.block(books, block));
    }
}
