package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.cache;
import static dev.warmpath.worker.kvcache.Sequences.grow;
import static dev.warmpath.worker.kvcache.Sequences.hitTokens;
import static dev.warmpath.worker.kvcache.Sequences.keyed;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static dev.warmpath.worker.kvcache.Sequences.table;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Blocks that are taken out of the cache by name. */
class EvictTest {

    private final KvCacheManager cache = cache(17, 4);
    /** Blocks 1, 2, 3, of which the last is not full. */
    private final TokenSequence first = sequence(4, range(0, 8));

    EvictTest() {
        admitted(cache, first);
        settle(cache, first);
    }

    @Test
    void descendants_go_first_whoever_they_are_of_and_what_stands_before_stays() {
        TokenSequence second = sequence(4, 0, 1, 2, 3, 4, 5, 6, 7, 90, 91, 92, 93, 94);
        assertThat(admitted(cache, second)).isEqualTo(8);             // blocks 1, 2, then 4 and 5
        settle(cache, second);
        TokenSequence other = sequence(4, range(20, 28));
        admitted(cache, other);                                       // blocks 6, 7, 8
        cache.drainChanges();
        long key1 = first.chain().key(1);
        long key2 = second.chain().key(2);

        assertThat(cache.evict(new int[] {2}, List.of(first, second, other))).isEqualTo(2);

        assertThat(cache.drainChanges()).containsExactly(new BlockChange.Removed(Medium.DEVICE, new long[] {key2, key1}));
        assertThat(keyed(cache)).containsExactly(1, 6, 7);
        assertThat(table(second)).as("held and read as before").containsExactly(1, 2, 4, 5);
        assertThat(hitTokens(cache, range(0, 8))).isEqualTo(4);
    }

    @Test
    void who_holds_an_evicted_block_gives_no_key_from_there_on_until_it_begins_anew() {
        cache.evict(new int[] {2}, List.of(first));
        grow(cache, first, range(9, 20));
        settle(cache, first);
        assertThat(keyed(cache)).containsExactly(1);

        cache.release(first);
        assertThat(admitted(cache, first)).isEqualTo(4);
        assertThat(cache.evict(new int[] {0, 1}, List.of(first))).as("the whole of it now").isEqualTo(5);
    }

    @Test
    void copies_of_what_is_evicted_go_with_it() {
        var twin = new TokenSequence(HashSettings.ofBlockSize(4), ExtraKeys.NONE, range(0, 8), /* skipsCacheRead */ true);
        admitted(cache, twin);                                        // computes blocks 4 and 5 again
        settle(cache, twin);
        cache.drainChanges();
        assertThat(keyed(cache)).containsExactly(1, 2, 4, 5);
        assertThat(cache.evict(new int[] {1}, List.of(first, twin))).isEqualTo(4);
        assertThat(cache.drainChanges()).containsExactly(new BlockChange.Removed(
                Medium.DEVICE, new long[] {first.chain().key(1), first.chain().key(0)}));
        assertThat(keyed(cache)).isEmpty();
    }

    @Test
    void what_is_evicted_while_a_step_is_in_flight_stays_away_when_that_step_fails_in_every_block_size() {
        var mixed = new KvCacheManager(
                KvCacheSettings.of(50, 8).withGroups(new FullAttention(), new SlidingWindow(64, 4)));
        TokenSequence held = sequence(8, range(0, 28));
        admitted(mixed, held);                                        // 1 to 4, of 8 tokens; 5 to 11, of 4
        settle(mixed, held);
        grow(mixed, held, range(28, 40));
        assertThat(keyed(mixed)).as("with what the step is to fill").hasSize(5 + 10);
        mixed.drainChanges();

        assertThat(mixed.evict(new int[] {2}, List.of(held))).as("from token 8 on, in both groups").isEqualTo(4 + 8);
        assertThat(keyed(mixed)).containsExactly(1, 5, 6);
        mixed.withdraw(held);
        assertThat(keyed(mixed)).as("the step had no part in these").containsExactly(1, 5, 6);
        mixed.checkIntegrity(List.of(held));

        mixed.release(held);
        assertThat(hitTokens(mixed, range(0, 28))).isEqualTo(8);
        assertThat(admitted(mixed, held)).isEqualTo(8);
    }

    @Test
    void nothing_is_evicted_while_keys_are_withheld_for_they_would_come_back() {
        TokenSequence second = sequence(4, 0, 1, 2, 3, 4, 5, 6, 7, 90);
        admitted(cache, second);
        settle(cache, second);
        cache.invalidate(List.of(first), List.of(first, second));
        assertThatIllegalStateException().isThrownBy(() -> cache.evict(new int[] {1}, List.of(first, second)))
                .withMessageContaining("until all in flight has settled");

        cache.release(first);
        cache.resumeKeys(List.of(second));
        assertThat(cache.evict(new int[] {1}, List.of(second))).isEqualTo(2);
    }

    @Test
    void blocks_without_a_key_are_passed_over_and_one_that_is_none_changes_nothing() {
        assertThat(cache.evict(new int[] {0, 3, 9}, List.of(first))).isZero();
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> cache.evict(new int[] {1, 17}, List.of(first)));
        assertThat(keyed(cache)).containsExactly(1, 2);
    }
}
