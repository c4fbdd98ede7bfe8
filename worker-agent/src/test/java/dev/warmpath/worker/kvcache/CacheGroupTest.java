package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.concat;
import static dev.warmpath.worker.kvcache.Sequences.grow;
import static dev.warmpath.worker.kvcache.Sequences.queue;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.references;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static dev.warmpath.worker.kvcache.Sequences.table;
import static dev.warmpath.worker.kvcache.Sequences.times;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Windows and several groups. The figures of numbered scenarios were produced by vLLM's code. */
class CacheGroupTest {

    private static final int[] COMMON = concat(times(16, 0), times(16, 1), times(16, 2));
    private static final int[] FIRST_PROMPT = concat(COMMON, times(7, 3));

    @Test
    @DisplayName("K29: a sliding window")
    void blocks_behind_the_window_go_back_while_their_sequence_runs() {
        var cache = new KvCacheManager(KvCacheSettings.of(12, 4).withGroups(new SlidingWindow(8)));
        TokenSequence a = sequence(4, range(0, 39));
        assertThat(cache.admit(a, cache.match(a), 16)).isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3, 4);
        assertThat(queue(cache)).containsExactly(5, 6, 7, 8, 9, 10, 11);

        settle(cache, a);
        assertThat(cache.extend(a, 8)).isTrue();
        assertThat(table(a)).containsExactly(0, 0, 3, 4, 5, 6);
        assertThat(queue(cache)).containsExactly(7, 8, 9, 10, 11, 2, 1);

        settle(cache, a);
        assertThat(cache.extend(a, 16)).isTrue();
        assertThat(table(a)).containsExactly(0, 0, 0, 0, 5, 6, 7, 8, 9, 10);
        assertThat(queue(cache)).containsExactly(11, 2, 1, 4, 3);
        cache.checkIntegrity(List.of(a));

        cache.release(a);
        assertThat(queue(cache)).containsExactly(11, 2, 1, 4, 3, 10, 9, 8, 7, 6, 5);

        TokenSequence b = sequence(4, range(0, 40));
        assertThat(admitted(cache, b)).isEqualTo(40);
        assertThat(table(b)).containsExactly(0, 0, 0, 0, 0, 0, 0, 0, 9, 10, 11);
        cache.checkIntegrity(List.of(b));
    }

    @Test
    void a_block_behind_the_window_stays_as_long_as_a_step_in_flight_may_read_it() {
        var cache = new KvCacheManager(KvCacheSettings.of(12, 4).withGroups(new SlidingWindow(8)));
        TokenSequence a = sequence(4, range(0, 39));
        cache.admit(a, cache.match(a), 16);

        assertThat(cache.extend(a, 8)).isTrue();

        assertThat(table(a)).containsExactly(1, 2, 3, 4, 5, 6);
    }

    @Test
    void what_is_behind_the_window_is_free_even_if_the_extension_is_then_refused() {
        var cache = new KvCacheManager(KvCacheSettings.of(5, 4).withGroups(new SlidingWindow(4)));
        TokenSequence a = sequence(4, range(0, 39));
        cache.admit(a, cache.match(a), 12);
        settle(cache, a);

        assertThat(cache.extend(a, 16)).isFalse();

        assertThat(table(a)).containsExactly(0, 0, 3);
        assertThat(a.computedTokens()).isEqualTo(12);
        assertThat(queue(cache)).containsExactly(4, 2, 1);
        cache.checkIntegrity(List.of(a));
    }

    @ParameterizedTest(name = "K30: of {0}, {1} blocks are hit: {2}")
    @CsvSource({"TTFFFTT, 7, 0 0 0 0 0 15 16", "TTFTFFTTFFF, 8, 0 0 0 0 0 0 16 17",
        "TTFTFFTTFTTT, 12, 0 0 0 0 0 0 0 0 0 0 20 21", "TTFTFFTTFFFT, 8, 0 0 0 0 0 0 16 17",
        "TTT, 3, 0 11 12", "TTF, 2, 10 11", "TF, 1, 10", "FFFF, 0, ''"})
    void a_window_is_looked_up_from_the_right_until_it_is_full(String cached, int blockCount, String blocks) {
        var cache = new KvCacheManager(KvCacheSettings.of(30, 2).withGroups(new SlidingWindow(4)));
        admitted(cache, sequence(2, range(1000, 1017)));              // takes blocks 1 to 9
        int[] tokens = range(0, cached.length() * 2);
        admitted(cache, sequence(2, tokens));
        for (int index = 0; index < cached.length(); index++) {
            if (cached.charAt(index) == 'F') {
                assertThat(cache.pool().unkey(index + 10)).isTrue();
            }
        }

        PrefixHit hit = cache.match(sequence(2, tokens));

        assertThat(hit.blockCount()).isEqualTo(blockCount);
        assertThat(IntStream.of(hit.toArray(0)).mapToObj(Integer::toString).collect(Collectors.joining(" ")))
                .isEqualTo(blocks);
    }

    @Test
    @DisplayName("K31: full attention and two windows")
    void a_hit_is_what_every_group_can_go_on_from() {
        KvCacheManager cache = hybrid();
        TokenSequence r0 = sequence(16, FIRST_PROMPT);
        admitted(cache, r0);
        assertThat(table(r0, 0)).containsExactly(1, 2, 3, 4);
        assertThat(table(r0, 1)).containsExactly(5, 6, 7, 8);
        assertThat(table(r0, 2)).containsExactly(9, 10, 11, 12);

        TokenSequence r1 = sequence(16, concat(COMMON, times(5, 4)));
        PrefixHit hit = cache.match(r1);
        assertThat(hit.tokenCount()).isEqualTo(48);
        assertThat(hit.toArray(0)).containsExactly(1, 2, 3);
        assertThat(hit.toArray(1)).containsExactly(0, 6, 7);
        assertThat(hit.toArray(2)).containsExactly(0, 10, 11);
        assertThat(cache.admit(r1, hit, 5)).isTrue();
        assertThat(table(r1, 0)).containsExactly(1, 2, 3, 13);
        assertThat(table(r1, 1)).containsExactly(0, 6, 7, 14);
        assertThat(table(r1, 2)).containsExactly(0, 10, 11, 15);
        assertThat(references(cache, 5, 6, 9, 10)).containsExactly(1, 2, 1, 2);
        assertThat(cache.commonPrefixBlocks(r1)).as("not told where there are windows").isZero();
        cache.checkIntegrity(List.of(r0, r1));
    }

    @ParameterizedTest(name = "K31: without {0}, {1} tokens are hit")
    @CsvSource({"3, 32", "7, 32", "11, 32", "1, 0", "5 9, 48"})
    void a_block_evicted_from_one_group_shortens_the_hit_where_that_group_needs_it(String blocks, int tokenCount) {
        KvCacheManager cache = hybrid();
        admitted(cache, sequence(16, FIRST_PROMPT));
        for (String block : blocks.split(" ")) {
            assertThat(cache.pool().unkey(Integer.parseInt(block))).isTrue();
        }

        assertThat(cache.match(sequence(16, FIRST_PROMPT)).tokenCount()).isEqualTo(tokenCount);
    }

    @Test
    void a_group_that_shortens_the_hit_has_the_others_looked_up_again() {
        var cache = new KvCacheManager(KvCacheSettings.of(40, 2).withGroups(new SlidingWindow(3), new SlidingWindow(5)));
        TokenSequence a = sequence(2, range(0, 12));
        admitted(cache, a);                                           // tables 1 to 7 and 8 to 14
        for (int block : new int[] {6, 3, 11, 12}) {                  // TTFTTF and TTTFFT
            cache.pool().unkey(block);
        }

        PrefixHit hit = cache.match(sequence(2, range(0, 12)));

        // the first could go on after 5 blocks, the second after 3 at most, from where the first has only 2
        assertThat(hit.blockCount()).isEqualTo(2);
        assertThat(hit.toArray(0)).containsExactly(0, 2);
        assertThat(hit.toArray(1)).containsExactly(8, 9);
    }

    @Test
    void groups_with_blocks_of_their_own_size_share_a_pool_and_are_hit_where_blocks_of_both_end() {
        var settings = KvCacheSettings.of(50, 8).withGroups(new FullAttention(), new SlidingWindow(8, 4));
        var cache = new KvCacheManager(settings);
        TokenSequence first = sequence(8, concat(range(0, 27), times(1, 90)));
        assertThat(admitted(cache, first)).isZero();
        assertThat(first.table(0).toArray()).containsExactly(1, 2, 3, 4);
        assertThat(first.table(1).toArray()).containsExactly(5, 6, 7, 8, 9, 10, 11, 12);
        settle(cache, first);
        cache.release(first);

        TokenSequence second = sequence(8, concat(range(0, 27), times(1, 91)));
        assertThat(admitted(cache, second)).as("28 tokens are cached, blocks of 8 end at 24").isEqualTo(24);
        assertThat(second.table(0).toArray()).startsWith(1, 2, 3);
        assertThat(second.table(1).toArray()).startsWith(0, 0, 0, 0, 9, 10);
        assertThat(second.table(1).blockCount()).isEqualTo(8);
        assertThat(cache.drainChanges()).containsExactly(new BlockChange.Stored(Medium.DEVICE, LongStream.range(0, 3)
                .map(index -> first.chain().key((int) index)).toArray()));
        cache.checkIntegrity(List.of(second));
    }

    @Test
    void sizes_that_hardly_ever_end_together_are_refused() {
        assertThat(KvCacheSettings.of(50, 6).withGroups(new FullAttention(), new SlidingWindow(8, 4)).alignment())
                .isEqualTo(12);
        assertThatIllegalArgumentException().isThrownBy(
                        () -> KvCacheSettings.of(50, 128).withGroups(new FullAttention(), new SlidingWindow(8, 129)))
                .withMessageContaining("end together every 16512 tokens").withMessageContaining("16384");
        assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindow(8, -1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> KvCacheSettings.of(1 << 20, 1).withGroups(new SlidingWindow(8, 4096)))
                .withMessageContaining("4294967296 slots");
    }

    @Test
    void only_keys_of_full_attention_are_announced() {
        KvCacheManager cache = hybrid();
        admitted(cache, sequence(16, FIRST_PROMPT));
        assertThat(cache.log().entries()).hasSize(9);
        assertThat(cache.pool().keyCount(0)).isEqualTo(3);
        cache.drainChanges();
        assertThat(cache.announcedCount()).isEqualTo(3);

        var windowOnly = new KvCacheManager(KvCacheSettings.of(21, 16).withGroups(new SlidingWindow(32)));
        admitted(windowOnly, sequence(16, FIRST_PROMPT));
        assertThat(windowOnly.drainChanges()).isEmpty();
        assertThat(windowOnly.announcedCount()).isZero();
    }

    @Test
    @DisplayName("K38: slots of several groups")
    void a_position_has_a_slot_in_every_group() {
        KvCacheManager cache = hybrid();
        TokenSequence a = sequence(16, FIRST_PROMPT);
        admitted(cache, a);

        assertThat(IntStream.range(0, 3).map(group -> a.table(group).slot(40))).containsExactly(56, 120, 184);
    }

    @Test
    void no_sequence_holds_more_than_the_settings_say() {
        KvCacheSettings settings = KvCacheSettings.of(64, 4).withGroups(new FullAttention(), new SlidingWindow(6));
        assertThat(settings.mostBlocks(40, 3)).as("10 and, of 5 + 3 positions, 2 and one more").isEqualTo(13);
        assertThat(settings.withMaxLength(20).mostBlocks(40, 3)).isEqualTo(8);

        var cache = new KvCacheManager(settings);
        TokenSequence a = sequence(4, range(0, 2));
        admitted(cache, a);
        int most = 0;
        for (int token = 3; token < 39; token += 3) {
            settle(cache, a);
            grow(cache, a, token, token + 1, token + 2);
            most = Math.max(most, cache.usableBlocks() - cache.freeBlocks());
        }
        assertThat(most).isEqualTo(13);
    }

    private static KvCacheManager hybrid() {
        return new KvCacheManager(KvCacheSettings.of(21, 16)
                .withGroups(new FullAttention(), new SlidingWindow(32), new SlidingWindow(32)));
    }
}
