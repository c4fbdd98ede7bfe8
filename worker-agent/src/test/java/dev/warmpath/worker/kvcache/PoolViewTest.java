package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.queue;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PoolViewTest {

    private static final long START = -5_000_000_000L;             // the clock may begin anywhere

    private final KvCacheManager cache =
            new KvCacheManager(KvCacheSettings.of(8, /* blockSize */ 4).withHostBlockCount(4));
    private final PoolImage image = new PoolImage(8, 4);

    @Test
    void an_image_has_references_keys_and_the_queue_as_the_pool_has_them() {
        at(0);
        TokenSequence first = sequence(4, range(0, 8));
        admitted(cache, first);                                    // blocks 1 and 2 are full, 3 holds one token
        settle(cache, first);
        TokenSequence second = sequence(4, range(0, 8));
        assertThat(admitted(cache, second)).isEqualTo(8);          // and takes block 4

        copy(0);
        assertThat(image.references(1)).isEqualTo(2);
        assertThat(image.references(3)).isEqualTo(1);
        assertThat(image.references(5)).isZero();
        assertThat(image.isKeyed(2)).isTrue();
        assertThat(image.key(2)).isEqualTo(first.chain().key(1));
        assertThat(image.isKeyed(3)).isFalse();
        assertThat(image.key(3)).isZero();
        assertThat(image.isUntouched(0)).isTrue();
        assertThat(image.isUntouched(5)).isTrue();
        assertThat(image.isUntouched(3)).isFalse();
        assertThat(image.next()).containsExactly(queue(cache)).containsExactly(5, 6, 7);

        cache.release(second);
        cache.release(first);
        copy(0);
        assertThat(image.references(1)).isZero();
        assertThat(image.next()).as("unkeyed first, then the deepest").containsExactly(queue(cache))
                .containsExactly(3, 4, 5, 6, 7, 2, 1);
    }

    @Test
    void the_last_use_of_a_block_is_when_it_was_taken_hit_or_let_go() {
        at(0);
        TokenSequence first = sequence(4, range(0, 8));
        admitted(cache, first);
        settle(cache, first);
        at(1_000);
        TokenSequence second = sequence(4, range(0, 8));
        admitted(cache, second);

        assertUsed(1, 1_000);
        assertUsed(3, 0);
        assertUsed(4, 1_000);
        assertThat(cache.view().lastUseMillis(5)).isZero();
        at(60_000);
        cache.release(second);
        assertUsed(1, 60_000);
        assertUsed(3, 0);
        assertUsed(4, 60_000);
        at(Duration.ofDays(300).toMillis());
        cache.release(first);
        assertUsed(3, Duration.ofDays(300).toMillis());
        copy(Duration.ofDays(300).toMillis());
        assertThat(image.atMillis()).isEqualTo(Duration.ofDays(300).toMillis());
        assertThat(image.lastUseMillis(4)).isEqualTo(cache.view().lastUseMillis(4));
    }

    @Test
    void an_image_of_two_states_tells_which_blocks_are_not_as_they_were() {
        at(0);
        copy(0);
        var later = new PoolImage(8, 4);
        TokenSequence first = sequence(4, range(0, 8));
        admitted(cache, first);
        settle(cache, first);
        cache.view().copyTo(later, START);
        assertThat(changed(later)).containsExactly(1, 2, 3);

        cache.view().copyTo(image, START);
        cache.release(first);
        cache.resetPrefixCache();
        cache.view().copyTo(later, START);
        assertThat(changed(later)).containsExactly(1, 2, 3);

        cache.view().copyTo(image, START);
        cache.view().copyTo(later, START);
        assertThat(changed(later)).isEmpty();
    }

    @Test
    void swap_space_is_seen_with_whose_it_is() {
        at(0);
        TokenSequence first = sequence(4, range(0, 8));
        admitted(cache, first);
        settle(cache, first);
        assertThat(cache.view().hostBlocks(first)).isEmpty();

        assertThat(cache.swapOut(first)).isTrue();

        assertThat(cache.view().hostBlocks(first)).containsExactly(0, 1);
        copy(0);
        var used = new BitSet();
        used.set(0, 2);
        assertThat(image.hostUsed()).isEqualTo(used);
    }

    @Test
    void a_keyed_block_has_its_hash_group_and_tokens_and_without_verification_no_tokens() {
        TokenSequence first = sequence(4, range(10, 14));
        admitted(cache, first);

        assertThat(HexFormat.of().formatHex(cache.view().hash(1)))
                .isEqualTo(HexFormat.of().formatHex(first.chain().hash(0)));
        assertThat(cache.view().group(1)).isZero();
        assertThat(cache.view().tokens(1)).containsExactly(10, 11, 12, 13);

        var trusting = new KvCacheManager(KvCacheSettings.of(8, 4).withVerifyTokens(false));
        admitted(trusting, sequence(4, range(10, 14)));
        assertThat(trusting.view().isKeyed(1)).isTrue();
        assertThat(trusting.view().tokens(1)).isNull();
    }

    @Test
    void a_cache_that_keeps_no_keys_is_seen_without_any() {
        var forgetful = new KvCacheManager(KvCacheSettings.of(8, 4).withPrefixCaching(false));
        admitted(forgetful, sequence(4, range(0, 8)));

        forgetful.view().copyTo(image, START);

        assertThat(image.references(2)).isEqualTo(1);
        assertThat(image.isKeyed(2)).isFalse();
        assertThat(image.key(2)).isZero();
    }

    @Test
    void at_most_256_blocks_come_next() {
        var large = new KvCacheManager(KvCacheSettings.of(1_000, 4));
        var copy = new PoolImage(1_000, 0);

        large.view().copyTo(copy, START);

        assertThat(copy.next()).isEqualTo(Arrays.copyOf(queue(large), 256));
    }

    private int[] changed(PoolImage later) {
        return IntStream.range(0, 8).filter(block -> !later.isSame(block, image)).toArray();
    }

    private void at(long millis) {
        cache.beginStep(START + Duration.ofMillis(millis).toNanos());
    }

    private void copy(long millis) {
        cache.view().copyTo(image, START + Duration.ofMillis(millis).toNanos());
    }

    /** Rounded up to the next 16.8 ms. */
    private void assertUsed(int block, long millis) {
        assertThat(cache.view().lastUseMillis(block)).isBetween(millis + 1, millis + 17);
    }
}
