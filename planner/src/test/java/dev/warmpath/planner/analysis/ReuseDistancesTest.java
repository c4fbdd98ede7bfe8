package dev.warmpath.planner.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReuseDistancesTest {

    @Test
    void a_block_is_found_by_a_cache_that_holds_it_and_all_that_was_used_since() {
        var distances = new ReuseDistances();
        distances.use(new long[] {1, 2}, 2, 0);
        distances.use(new long[] {3}, 1, 1_000_000);
        distances.use(new long[] {1, 2}, 2, 3_000_000);

        assertThat(distances.hits(1)).isZero();
        assertThat(distances.hits(2)).as("3 and 1, which is used after 2").isEqualTo(1);
        assertThat(distances.hits(3)).isEqualTo(2);
        assertThat(distances.distinct()).isEqualTo(3);
        assertThat(distances.capacityFor(1)).isEqualTo(3);
        assertThat(distances.capacityFor(0.5)).isEqualTo(2);
        assertThat(distances.gapSeconds(0.5)).isCloseTo(3, within(0.01));
    }

    @Test
    void what_must_be_computed_anyway_is_no_hit() {
        var distances = new ReuseDistances();
        distances.use(new long[] {1, 2}, 1, 0);
        distances.use(new long[] {1, 2}, 1, 1);

        assertThat(distances.hits(10)).isEqualTo(1);
    }

    @Test
    void caches_of_every_size_find_what_a_cache_of_that_size_finds() {
        List<Session> sessions = GeneratedLoad.DOCUMENTS.sessions(1_500, 1, /* seed */ 3);
        var distances = new ReuseDistances();
        sessions.forEach(session -> distances.use(PooledCache.promptKeys(session.turns().getFirst().prompt()),
                (session.turns().getFirst().prompt().length() - 1) / GeneratedLoad.PIECE, session.startMicros()));

        for (int capacity : new int[] {200, 1_000, 5_000, 20_000, 60_000, 1_000_000}) {
            var cache = new PooledCache(capacity);
            long found = 0;
            for (Session session : sessions) {
                Turn turn = new Turn(session.turns().getFirst().prompt(), 1);
                found += cache.use(turn) / GeneratedLoad.PIECE;
            }
            assertThat(distances.hits(capacity)).as("%d blocks", capacity).isEqualTo(found);
        }
        assertThat(distances.sampledOneIn()).isEqualTo(1);
    }

    @Test
    void of_two_million_blocks_one_in_two_tells_the_same_within_two_points() {
        var distances = new ReuseDistances();
        var random = new SplittableRandom(5);
        long uses = 0;
        for (int i = 0; i < 6_000_000; i++, uses++) {              // half of all uses are of a twentieth of the blocks
            long block = random.nextBoolean() ? random.nextInt(150_000) : random.nextInt(3_000_000);
            distances.use(new long[] {block + 1}, 1, i);
        }
        assertThat(distances.sampledOneIn()).isEqualTo(2);
        double distinct = 150_000 + 2_850_000 * (1 - Math.exp(-1));
        assertThat(distances.distinct()).isCloseTo(distinct, within(0.01 * distinct));
        assertThat(distances.hits(Double.POSITIVE_INFINITY) / uses).isCloseTo(1 - distinct / uses, within(0.02));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 4, 5, 6, 7})
    void a_block_that_all_begin_with_spoils_no_size_whether_it_is_in_the_sample_or_not(long hot) {
        var distances = new ReuseDistances(/* most followed */ 1 << 12);
        var random = new SplittableRandom(9);
        List<long[]> prompts = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {                          // half of all go on with one of the last 2,000
            long[] before = i > 0 && random.nextBoolean() ? prompts.get(i - 1 - random.nextInt(Math.min(i, 2_000)))
                    : new long[] {hot};
            long[] prompt = Arrays.copyOf(before, before.length + 3);
            for (int j = before.length; j < prompt.length; j++) {
                prompt[j] = 100 + 3L * i + j - before.length;
            }
            prompts.add(prompt);
            distances.use(PooledCache.keys(turn(prompt)), prompt.length - 1, i);
        }
        long uses = prompts.stream().mapToLong(prompt -> prompt.length).sum();
        assertThat(distances.sampledOneIn()).isGreaterThanOrEqualTo(8);
        for (int capacity : new int[] {1_000, 4_000, 10_000, 30_000, 1_000_000}) {
            var cache = new PooledCache(capacity);
            long found = prompts.stream().mapToLong(prompt -> cache.use(turn(prompt)) / GeneratedLoad.PIECE).sum();
            assertThat(distances.hits(capacity) / uses).as("%d blocks", capacity)
                    .isCloseTo((double) found / uses, within(0.03));
        }
    }

    private static Turn turn(long[] pieces) {
        return new Turn(new Prompt(pieces, GeneratedLoad.PIECE, pieces.length * GeneratedLoad.PIECE), 1);
    }
}
