package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.admitted;
import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static dev.warmpath.worker.kvcache.Sequences.settle;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.histogram.Distribution;
import org.junit.jupiter.api.Test;

/** Blocks of 4 tokens; times in seconds, as they are given to the cache. */
class BlockAgesTest {

    private static final long SECOND = 1_000_000_000;

    @Test
    void an_evicted_block_tells_its_age_and_its_idle_time_and_a_block_that_is_hit_again_the_gap() {
        var cache = new KvCacheManager(KvCacheSettings.of(/* blockCount */ 4, /* blockSize */ 4));
        run(cache, /* at */ 10, 0);        // allocates three blocks, of which two are full
        run(cache, /* at */ 13, 0);        // hits two
        run(cache, /* at */ 20, 0);        // and again, 7 s later
        assertThat(cache.residency().reuseGap().count()).isEqualTo(2);
        assertThat(cache.residency().reuseGap().sum()).isEqualTo(14 * SECOND);
        assertThat(cache.residency().lifetime().count()).as("nothing was evicted").isZero();

        run(cache, /* at */ 50, 100);      // others: both lose their key

        assertThat(seconds(cache.residency().lifetime())).containsExactly(2, 80);
        assertThat(seconds(cache.residency().idleBeforeEviction())).containsExactly(2, 60);
        run(cache, /* at */ 51, 0);        // and those go, which nobody has hit
        assertThat(seconds(cache.residency().lifetime())).containsExactly(4, 82);
        assertThat(seconds(cache.residency().idleBeforeEviction())).containsExactly(4, 62);
        assertThat(cache.residency().reuseGap().count()).as("the first hit of a life has no gap").isEqualTo(2);
    }

    @Test
    void one_block_of_sixteen_stands_for_the_others_in_a_large_pool() {
        int blocks = 16_000;
        var cache = new KvCacheManager(KvCacheSettings.of(blocks + 1, 4));
        run(cache, /* at */ 10, 0, 4 * blocks);
        run(cache, /* at */ 15, 1_000_000, 4 * blocks);

        Distribution lifetime = cache.residency().lifetime();
        assertThat(cache.stats().evictedBlocks()).isEqualTo(blocks);
        assertThat(lifetime.count()).isBetween((long) blocks / 16 - 1, (long) blocks / 16 + 1);
        assertThat(lifetime.sum()).isEqualTo(5 * SECOND * lifetime.count());
    }

    /** Two full blocks and a token. */
    private static void run(KvCacheManager cache, int second, int firstToken) {
        run(cache, second, firstToken, 9);
    }

    private static void run(KvCacheManager cache, int second, int firstToken, int tokens) {
        cache.beginStep(second * SECOND);
        TokenSequence sequence = sequence(4, range(firstToken, firstToken + tokens - 1));
        admitted(cache, sequence);
        settle(cache, sequence);
        cache.release(sequence);
    }

    private static long[] seconds(Distribution distribution) {
        return new long[] {distribution.count(), distribution.sum() / SECOND};
    }
}
