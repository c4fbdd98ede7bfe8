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
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What may be asked for beside tokens to compute. The figures of numbered scenarios were produced by vLLM's code. */
class AdmissionTest {

    @Test
    @DisplayName("K16: lookahead")
    void lookahead_positions_get_blocks_up_to_the_maximum_length() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 2));
        assertThat(cache.admit(a, cache.match(a), Admission.of(3).withLookahead(2))).isTrue();
        assertThat(table(a)).containsExactly(1, 2);

        var clamped = new KvCacheManager(KvCacheSettings.of(11, 4).withMaxLength(8));
        TokenSequence b = sequence(4, range(0, 6));
        assertThat(clamped.admit(b, clamped.match(b), Admission.of(7).withLookahead(6))).isTrue();
        assertThat(table(b)).containsExactly(1, 2);
        clamped.checkIntegrity(List.of(b));
    }

    @Test
    @DisplayName("K17: drafts are not cached")
    void lookahead_positions_get_no_keys() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 6));
        admitted(cache, a);
        a.append(7);

        assertThat(cache.extend(a, 1, 4)).isTrue();

        assertThat(table(a)).containsExactly(1, 2, 3);
        assertThat(cache.pool().keyCount(0)).isEqualTo(2);
        cache.checkIntegrity(List.of(a));

        a.append(8);
        assertThat(cache.extend(a, 1, 3)).as("what was looked ahead for is there").isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3);
    }

    @Test
    @DisplayName("K18: an external load")
    void external_tokens_get_blocks_at_once_and_keys_when_they_have_arrived() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence a = sequence(16, range(0, 63));

        assertThat(cache.admit(a, cache.match(a), loading(48))).isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3);
        assertThat(cache.pool().keyCount(0)).isZero();
        assertThatIllegalStateException().isThrownBy(() -> cache.extend(a, 16)).withMessageContaining("external load");

        cache.loaded(a, 48);
        assertThat(cache.pool().keyCount(0)).isEqualTo(3);
        assertThat(cache.extend(a, 16)).isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3, 4);
        assertThat(cache.pool().keyCount(0)).isEqualTo(4);

        assertThatIllegalArgumentException().isThrownBy(() -> Admission.of(0))
                .withMessage("an admission of 0 tokens and 0 external ones asks for nothing");
        assertThatIllegalArgumentException().isThrownBy(() -> cache.extend(a, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> cache.loaded(a, 1))
                .withMessage("1 external tokens arrived, no load is under way");
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void a_delayed_load_does_not_build_on_what_a_step_is_still_to_compute() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 8));
        admitted(cache, a);                                           // in the step being made
        TokenSequence b = sequence(4, range(0, 15));

        assertThat(cache.admit(b, cache.match(b), loading(4))).as("a's blocks may come to nothing").isFalse();

        assertThat(table(b)).isEmpty();
        assertThat(cache.admit(b, cache.match(b), Admission.of(8))).as("it would fail with that step").isTrue();
        cache.withdraw(b);
        cache.release(b);
        settle(cache, a);
        assertThat(cache.admit(b, cache.match(b), loading(4))).as("that step has succeeded").isTrue();
        grow(cache, a, 9);
        cache.withdraw(a);                                            // a later one fails
        cache.release(a);
        cache.loaded(b, 4);
        assertThat(cache.drainChanges()).hasSize(1);
        assertThat(cache.announcedCount()).isEqualTo(3);
        assertThat(hitTokens(cache, range(0, 15))).isEqualTo(12);
        cache.checkIntegrity(List.of(b));
    }

    @Test
    void a_hit_that_was_released_or_became_known_late_can_be_built_on() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 5));
        admitted(cache, a);
        a.expect(3);
        cache.extend(a, 3);
        settle(cache, a);
        a.append(6);
        a.append(7);
        a.append(8);
        cache.release(a);                                             // gives the second block its key
        TokenSequence b = sequence(4, range(0, 15));

        assertThat(cache.match(b).tokenCount()).isEqualTo(8);
        assertThat(cache.admit(b, cache.match(b), loading(4))).isTrue();
    }

    @Test
    void a_delayed_load_behind_swapped_blocks_is_an_error() {
        var cache = new KvCacheManager(KvCacheSettings.of(11, 4).withHostBlockCount(4).withPrefixCaching(false));
        TokenSequence a = sequence(4, range(0, 15));
        cache.admit(a, cache.match(a), 6);
        cache.swapOut(a);

        assertThatIllegalStateException().isThrownBy(() -> cache.admit(a, cache.match(a), loading(4)))
                .withMessage("a delayed load of 4 tokens, but 6 lie in swap space: to be dropped first");

        cache.dropSwapped(a);
        assertThat(cache.admit(a, cache.match(a), loading(4))).isTrue();
    }

    @Test
    void an_external_load_that_fails_halfway_leaves_the_rest_to_compute() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 15));
        cache.admit(a, cache.match(a), loading(12));
        assertThatIllegalArgumentException().isThrownBy(() -> cache.loaded(a, 13))
                .withMessage("13 external tokens arrived, 12 were asked for");

        cache.loaded(a, 5);

        assertThat(a.computedTokens()).isEqualTo(5);
        assertThat(keyed(cache)).containsExactly(1);
        assertThat(cache.extend(a, 11)).isTrue();
        assertThat(table(a)).containsExactly(1, 2, 3, 4);
        assertThat(keyed(cache)).containsExactly(1, 2, 3, 4);
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void a_load_of_every_token_leaves_the_last_one_to_compute_in_its_place() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 7));
        cache.admit(a, cache.match(a), loading(8));

        cache.loaded(a, 8);

        assertThat(a.uncomputedTokens()).isEqualTo(1);
        assertThat(cache.extend(a, 1)).isTrue();
        assertThat(table(a)).containsExactly(1, 2);
        assertThat(cache.copies().size()).isZero();
        assertThat(keyed(cache)).containsExactly(1, 2);
    }

    @Test
    void a_load_that_is_given_up_leaves_no_keys() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 15));
        cache.admit(a, cache.match(a), loading(12));

        cache.release(a);

        assertThat(keyed(cache)).isEmpty();
        assertThat(hitTokens(cache, range(0, 15))).isZero();
        cache.checkIntegrity(List.of());
    }

    @Test
    void external_tokens_that_are_there_are_keyed_with_those_computed_after_them() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence first = sequence(4, range(0, 4));
        admitted(cache, first);
        TokenSequence a = sequence(4, range(0, 15));

        assertThat(cache.admit(a, cache.match(a), Admission.of(3).withExternalTokens(6, false))).isTrue();

        assertThat(a.computedTokens()).as("4 hit, 6 external, 3 computed").isEqualTo(13);
        assertThat(table(a)).containsExactly(1, 3, 4, 5);
        assertThat(keyed(cache)).containsExactly(1, 3, 4);
    }

    @Test
    @DisplayName("K19: the watermark")
    void an_admission_beside_others_leaves_the_watermark_free() {
        var cache = new KvCacheManager(KvCacheSettings.of(21, 4).withWatermark(0.2));
        TokenSequence a = sequence(4, range(0, 63));
        assertThat(cache.admit(a, cache.match(a), Admission.of(64))).as("nothing runs").isTrue();
        assertThat(cache.freeBlocks()).isEqualTo(4);

        TokenSequence b = sequence(4, range(100, 103));
        assertThat(cache.admit(b, cache.match(b), Admission.of(4).withOthersRun(true))).isFalse();
        assertThat(cache.admit(b, cache.match(b), Admission.of(4))).isTrue();
        assertThat(table(b)).containsExactly(17);
        cache.checkIntegrity(List.of(a, b));
    }

    @Test
    @DisplayName("K20: the whole sequence must fit")
    void a_first_chunk_is_refused_where_the_whole_sequence_has_no_room() {
        KvCacheManager cache = cache(11, 16);
        TokenSequence a = sequence(16, range(0, 199));

        assertThat(cache.admit(a, cache.match(a), Admission.of(16).withWholeSequence(true))).isFalse();
        assertThat(cache.admit(a, cache.match(a), Admission.of(16))).isTrue();
        assertThat(table(a)).containsExactly(1);
    }

    @Test
    void blocks_that_are_hit_count_towards_the_whole_sequence() {
        KvCacheManager cache = cache(6, 4);
        TokenSequence first = sequence(4, range(0, 8));
        admitted(cache, first);
        TokenSequence second = sequence(4, range(0, 15));

        assertThat(cache.admit(second, cache.match(second), Admission.of(1).withWholeSequence(true))).isTrue();

        assertThat(table(second)).containsExactly(1, 2, 4);
        assertThat(cache.freeBlocks()).as("for the fourth block").isEqualTo(1);
    }

    @Test
    void tokens_that_are_still_being_drawn_get_blocks_but_no_keys_until_they_are_known() {
        KvCacheManager cache = cache(11, 4);
        TokenSequence a = sequence(4, range(0, 5));
        admitted(cache, a);
        a.expect(3);                                                  // three more steps before the next decision
        assertThat(a.uncomputedTokens()).isEqualTo(3);

        assertThat(cache.extend(a, 3)).isTrue();
        assertThat(a.computedTokens()).isEqualTo(9);
        assertThat(table(a)).containsExactly(1, 2, 3);
        assertThat(keyed(cache)).containsExactly(1);

        for (int token = 100; token < 104; token++) {
            a.append(token);
        }
        settle(cache, a);
        assertThat(a.pendingTokens()).isZero();
        assertThat(a.uncomputedTokens()).isEqualTo(1);

        cache.release(a);
        assertThat(keyed(cache)).as("its tokens are known by now").containsExactly(1, 2);
        assertThat(hitTokens(cache, new int[] {0, 1, 2, 3, 4, 5, 100, 101, 102, 103})).isEqualTo(8);
    }

    @Test
    void more_than_the_maximum_length_cannot_be_computed() {
        var cache = new KvCacheManager(KvCacheSettings.of(11, 4).withMaxLength(8));
        TokenSequence a = sequence(4, range(0, 9));

        assertThatIllegalArgumentException().isThrownBy(() -> cache.admit(a, cache.match(a), 9))
                .withMessage("9 tokens to compute, 1 to 8 are possible");
        assertThat(cache.admit(a, cache.match(a), 8)).isTrue();
        assertThatIllegalArgumentException().isThrownBy(() -> cache.extend(a, 1))
                .withMessage("1 tokens to compute behind 8, the sequence may have 8 in all");
    }

    @Test
    void numbers_beyond_counting_are_errors_and_lookahead_beyond_the_pool_is_refused() {
        KvCacheManager cache = new KvCacheManager(
                KvCacheSettings.of(11, 1).withGroups(new FullAttention(), new SlidingWindow(2)));
        TokenSequence a = sequence(1, range(0, 2));
        int most = Integer.MAX_VALUE;
        assertThatIllegalArgumentException().isThrownBy(() -> cache.admit(a, cache.match(a), most))
                .withMessage("2147483647 tokens to compute, 1 to 3 are possible");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> cache.admit(a, cache.match(a), Admission.of(1).withExternalTokens(most, false)))
                .withMessage("1 tokens to compute behind 2147483647, the sequence may have 3 in all");
        assertThat(cache.admit(a, cache.match(a), Admission.of(3).withLookahead(most))).isFalse();
        assertThat(cache.admit(a, cache.match(a), Admission.of(3).withLookahead(most).withWholeSequence(true)))
                .isFalse();

        assertThat(cache.admit(a, cache.match(a), 2)).isTrue();
        assertThatIllegalArgumentException().isThrownBy(() -> cache.extend(a, most))
                .withMessage("2147483647 tokens to compute, 1 to 1 are possible");
        assertThat(cache.extend(a, 1, most)).isFalse();
        assertThat(a.computedTokens()).isEqualTo(2);
        assertThatIllegalArgumentException().isThrownBy(() -> a.expect(most));
        a.expect(most - 3);
        assertThatIllegalArgumentException().isThrownBy(() -> a.expect(1)).withMessageContaining("1");
        assertThat(cache.extend(a, most - 2)).isFalse();
        cache.checkIntegrity(List.of(a));
    }

    @Test
    void contradictory_admissions_are_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> Admission.of(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> Admission.of(1).withLookahead(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> Admission.of(1).withExternalTokens(4, true))
                .withMessageContaining("4 external tokens, 1 to compute");
        assertThatIllegalArgumentException().isThrownBy(() -> Admission.of(1).withExternalTokens(0, true));
    }

    private static Admission loading(int externalTokens) {
        return new Admission(0, 0, externalTokens, true, false, false);
    }
}
