package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.Medium;
import java.util.List;
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
            fresh.add(0, 100, /* prefixClosed */ true).apply(leading(held), true);
            fresh.add(1, 100, /* prefixClosed */ false).apply(leading(held), true);

            PrefixMatch match = fresh.match(chain, 10);
            assertThat(match.blocks(0)).isEqualTo(held);
            assertThat(match.blocks(1)).isEqualTo(held);
        }
    }

    @Test
    void a_match_ends_at_the_blocks_that_may_be_reused() {
        index.add(0, 100, true).apply(leading(10), true);

        assertThat(index.match(chain, 3).blocks(0)).isEqualTo(3);
        assertThat(index.match(chain, 0).blocks(0)).isZero();
    }

    @Test
    void a_worker_that_is_not_prefix_closed_is_not_credited_beyond_a_hole() {
        var keys = new long[] {chain.key(0), chain.key(1), chain.key(3), chain.key(4), chain.key(5)};
        index.add(0, 100, false).apply(List.of(new Stored(Medium.DEVICE, keys)), true);

        assertThat(index.match(chain, 10).blocks(0)).isEqualTo(2);
    }

    @Test
    void a_removed_worker_is_gone_from_the_next_match_and_its_ordinal_is_free() {
        index.add(0, 100, true).apply(leading(5), true);
        index.remove(0);

        assertThat(index.match(chain, 10).blocks(0)).isZero();
        assertThat(index.keyCount(0)).isZero();
        index.add(0, 100, true).apply(leading(2), true);
        assertThat(index.match(chain, 10).blocks(0)).isEqualTo(2);
    }

    @Test
    void an_unknown_ordinal_holds_nothing() {
        assertThat(index.match(chain, 10).blocks(7)).isZero();
        assertThat(index.holds(7, 1)).isFalse();
    }

    private List<dev.warmpath.protocol.event.BlockChange> leading(int blocks) {
        long[] keys = IntStream.range(0, blocks).mapToLong(chain::key).toArray();
        return List.of(new Stored(Medium.DEVICE, keys));
    }
}
