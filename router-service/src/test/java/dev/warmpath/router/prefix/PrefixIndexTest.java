package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
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
