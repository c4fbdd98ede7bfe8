package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockExtraKeys;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.worker.foreign.event.EngineEvent.Place;
import dev.warmpath.worker.foreign.event.EngineEvent.Removed;
import dev.warmpath.worker.foreign.event.EngineEvent.Stored;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EngineBlocksTest {

    private static final HashSettings FOUR = HashSettings.ofBlockSize(4);
    private static final Place GPU = new Place("GPU", false, 0);
    private static final int[] TOKENS = IntStream.range(0, 16).toArray();
    private static final long[] KEYS = keys(FOUR, ExtraKeys.NONE, TOKENS);

    private final EngineBlocks blocks = new EngineBlocks(FOUR, 100);

    @Test
    void a_chain_is_announced_under_our_keys_whatever_the_engine_calls_its_blocks() {
        assertThat(apply(stored(null, TOKENS, 11, 12, 13))).containsExactly(stored(KEYS[0], KEYS[1], KEYS[2]));
        assertThat(apply(stored(13L, Arrays.copyOfRange(TOKENS, 12, 16), 14))).containsExactly(stored(KEYS[3]));
        assertThat(apply(removed(14, 13))).containsExactly(removed(KEYS[3], KEYS[2]));

        assertThat(counts().announced()).isEqualTo(2);
        assertThat(counts().stored()).isEqualTo(4);
        assertThat(counts().equalHashes()).isZero();
    }

    @Test
    void blocks_that_the_engine_hashes_as_we_do_are_counted() {
        apply(stored(null, TOKENS, KEYS[0], 12, KEYS[2]));

        assertThat(counts().equalHashes()).isEqualTo(2);
    }

    @Test
    @DisplayName("K26: of three removals two name the same block, and two blocks can still be found")
    void a_block_held_twice_is_withdrawn_when_both_copies_are_gone() {
        apply(stored(null, TOKENS, 11, 12, 13, 14));
        apply(stored(13L, Arrays.copyOfRange(TOKENS, 12, 16), 14));

        assertThat(blocks.apply(List.of(removed(14), removed(14), removed(13))))
                .containsExactly(removed(KEYS[3], KEYS[2]));
        assertThat(counts().announced()).isEqualTo(2);
    }

    @Test
    void the_second_copy_is_not_announced_and_the_first_removal_withdraws_nothing() {
        apply(stored(null, TOKENS, 11, 12));

        assertThat(apply(stored(11L, Arrays.copyOfRange(TOKENS, 4, 8), 12))).isEmpty();
        assertThat(apply(removed(12))).isEmpty();
        assertThat(apply(removed(12))).containsExactly(removed(KEYS[1]));
        assertThat(apply(removed(12))).isEmpty();
        assertThat(counts().strayRemoved()).isEqualTo(1);
    }

    @Test
    void a_chain_met_in_its_middle_is_announced_once_its_beginning_is_known() {
        assertThat(apply(stored(11L, Arrays.copyOfRange(TOKENS, 4, 12), 12, 13))).isEmpty();
        assertThat(counts().unproved()).isEqualTo(2);
        assertThat(apply(stored(null, Arrays.copyOf(TOKENS, 4), 11))).containsExactly(stored(KEYS[0]));

        assertThat(apply(stored(11L, Arrays.copyOfRange(TOKENS, 4, 12), 12, 13)))
                .containsExactly(stored(KEYS[1], KEYS[2]));
    }

    @Test
    void what_followed_a_block_is_withdrawn_with_it_leaf_up() {
        int[] fork = TOKENS.clone();
        fork[8] = 99;
        long[] forkKeys = keys(FOUR, ExtraKeys.NONE, fork);
        apply(stored(null, TOKENS, 11, 12, 13, 14));
        apply(stored(12L, Arrays.copyOfRange(fork, 8, 16), 23, 24));

        List<BlockChange> changes = apply(removed(12));

        assertThat(changes).hasSize(1);
        long[] gone = ((BlockChange.Removed) changes.getFirst()).keys();
        assertThat(gone).hasSize(5).endsWith(KEYS[1]);
        assertThat(gone).containsSubsequence(KEYS[3], KEYS[2]).containsSubsequence(forkKeys[3], forkKeys[2]);
        assertThat(counts().announced()).isEqualTo(1);
        assertThat(apply(removed(14, 13, 24, 23, 11))).containsExactly(removed(KEYS[0]));
        assertThat(counts().strayRemoved()).isEqualTo(4);
    }

    @Test
    void only_blocks_of_the_device_and_of_the_full_attention_group_are_announced() {
        assertThat(apply(stored("sliding_window", new Place("GPU", false, 0), 11))).isEmpty();
        assertThat(apply(stored("full_attention", new Place("CPU", false, 1), 11))).isEmpty();
        assertThat(apply(stored("full_attention", new Place("GPU", true, 1), 11))).isEmpty();
        assertThat(apply(stored("full_attention", new Place("GPU", false, 1), 11))).containsExactly(stored(KEYS[0]));
        assertThat(apply(stored("full_attention", new Place("GPU", false, 2), 11))).isEmpty();

        assertThat(apply(new Removed(new long[] {11}, new Place("GPU", false, 0)))).isEmpty();
        assertThat(apply(new Removed(new long[] {11}, new Place("CPU", false, 1)))).isEmpty();
        assertThat(counts().passedOver()).isEqualTo(6);
        assertThat(apply(new Removed(new long[] {11}, new Place(null, false, 1)))).containsExactly(removed(KEYS[0]));
    }

    @Test
    void a_group_that_does_not_say_what_it_is_counts_if_it_is_the_first() {
        assertThat(apply(stored(null, new Place("GPU", false, 1), 11))).isEmpty();
        assertThat(apply(stored(null, new Place("GPU", false, 0), 11))).containsExactly(stored(KEYS[0]));
    }

    @Test
    void blocks_of_another_size_are_none_of_the_fleets() {
        assertThat(apply(new Stored(new long[] {1}, null, TOKENS, 16, GPU, null, keysFor(1)))).isEmpty();
        assertThat(counts().passedOver()).isEqualTo(1);
    }

    @Test
    void blocks_without_all_their_tokens_or_keys_are_not_announced() {
        assertThat(apply(new Stored(new long[] {1, 2}, null, new int[7], 4, GPU, null, keysFor(2)))).isEmpty();
        assertThat(apply(new Stored(new long[] {1, 2, 3}, null, Arrays.copyOf(TOKENS, 12), 4, GPU, null, keysFor(2))))
                .containsExactly(stored(KEYS[0], KEYS[1]));
        assertThat(counts().unproved()).isEqualTo(3);
    }

    @Test
    void a_salt_is_hashed_as_it_was_sent_and_an_adapter_under_the_fleets_name_for_it() {
        var both = new BlockExtraKeys("tuned", List.of(), "s:0b");
        var adapter = new BlockExtraKeys("tuned", List.of(), null);
        long[] keys = keys(FOUR, new ExtraKeys("a:tuned", "s:0b"), TOKENS);

        assertThat(apply(new Stored(new long[] {1, 2}, null, Arrays.copyOf(TOKENS, 8), 4, GPU, null,
                List.of(both, adapter)))).containsExactly(stored(keys[0], keys[1]));
    }

    @Test
    void a_clear_and_what_follows_it_are_told_in_order_and_what_was_before_it_is_not_told() {
        apply(stored(null, TOKENS, 11, 12));

        assertThat(blocks.apply(List.of(removed(12), new EngineEvent.Cleared(), stored(null, TOKENS, 11))))
                .containsExactly(new BlockChange.Cleared(), stored(KEYS[0]));
        assertThat(blocks.forget()).containsExactly(new BlockChange.Cleared());
        assertThat(blocks.forget()).isEmpty();
        assertThat(apply(new EngineEvent.Cleared())).isEmpty();
        assertThat(counts().announced()).isZero();
    }

    @Test
    void more_blocks_than_the_engine_can_hold_are_wrong_books_that_begin_anew() {
        var three = new EngineBlocks(FOUR, 3);
        assertThat(three.apply(List.of(stored(null, TOKENS, 11, 12, 13))))
                .containsExactly(stored(KEYS[0], KEYS[1], KEYS[2]));

        assertThat(three.apply(List.of(stored(13L, Arrays.copyOfRange(TOKENS, 12, 16), 14))))
                .containsExactly(new BlockChange.Cleared());
        assertThat(three.apply(List.of(stored(null, TOKENS, 11)))).containsExactly(stored(KEYS[0]));
        assertThat(three.counts(EventCounts.NONE).overflows()).isEqualTo(1);
    }

    private List<BlockChange> apply(EngineEvent event) {
        return blocks.apply(List.of(event));
    }

    private EventCounts counts() {
        return blocks.counts(EventCounts.NONE);
    }

    private static Stored stored(@Nullable Long parent, int[] tokens, long... handles) {
        return new Stored(handles, parent, Arrays.copyOf(tokens, handles.length * 4), 4, GPU, "full_attention",
                keysFor(handles.length));
    }

    private static Stored stored(@Nullable String attention, Place place, long handle) {
        return new Stored(new long[] {handle}, null, Arrays.copyOf(TOKENS, 4), 4, place, attention, keysFor(1));
    }

    private static Removed removed(int... handles) {
        return new Removed(Arrays.stream(handles).asLongStream().toArray(), GPU);
    }

    private static List<BlockExtraKeys> keysFor(int blockCount) {
        return Collections.nCopies(blockCount, BlockExtraKeys.NONE);
    }

    private static BlockChange stored(long... keys) {
        return new BlockChange.Stored(Medium.DEVICE, keys);
    }

    private static BlockChange removed(long... keys) {
        return new BlockChange.Removed(Medium.DEVICE, keys);
    }

    private static long[] keys(HashSettings settings, ExtraKeys extraKeys, int[] tokens) {
        BlockHashChain chain = BlockHashChain.of(settings, extraKeys, tokens);
        return IntStream.range(0, chain.blockCount()).mapToLong(chain::key).toArray();
    }
}
