package dev.warmpath.planner.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BoundsTest {

    @Test
    void of_three_blocks_in_turn_two_places_find_nothing_by_last_use_and_half_when_the_future_is_known() {
        // a b c a b c, each a request of its own, with a second block that is never found
        Bounds bounds = Bounds.of(uses(new int[][] {{0}, {1}, {2}, {0}, {1}, {2}}), /* full */ 6, /* capacity */ 2);

        assertThat(bounds.endless()).isEqualTo(3 / 6.0);
        assertThat(bounds.oneCache()).isZero();
        assertThat(bounds.clairvoyant()).as("c is not kept at first, or b is given up for it").isEqualTo(2 / 6.0);
    }

    @Test
    void a_block_counts_only_behind_all_blocks_before_it() {
        // the end of the first prompt is pushed out before its begin: two of its three blocks are found
        Bounds bounds = Bounds.of(uses(new int[][] {{0, 1, 2}, {3}, {0, 1, 2}}), 7, /* capacity */ 3);

        assertThat(bounds.oneCache()).isEqualTo(2 / 7.0);
        assertThat(bounds.clairvoyant()).as("3 is never used again").isEqualTo(3 / 7.0);
    }

    @Test
    void what_must_be_computed_anyway_is_not_found_by_anybody() {
        var uses = new Survey.Uses(new int[] {0, 1, 0, 1}, new int[] {2, 4}, /* one token is always computed */
                new int[] {1, 1}, 2);

        assertThat(Bounds.of(uses, 4, 10)).isEqualTo(new Bounds(0.25, 0.25, 0.25));
    }

    @Test
    void one_cache_finds_what_the_pooled_cache_of_loads_finds_and_the_clairvoyant_one_no_less() throws IOException {
        var load = new DrawnLoad("rag", GeneratedLoad.DOCUMENTS, 600, 1, /* seed */ 7);
        Survey survey = Survey.of(load, _ -> {});
        for (int capacity : new int[] {200, 2_000, 20_000, 1_000_000}) {
            Bounds bounds = Bounds.of(survey.uses(), survey.fullBlocks(), capacity);

            assertThat(bounds.oneCache()).as("%d blocks", capacity).isCloseTo(pooled(load, capacity), within(1e-12));
            assertThat(bounds.clairvoyant()).isBetween(bounds.oneCache(), bounds.endless());
        }
    }

    private static double pooled(DrawnLoad load, int capacity) {
        var cache = new PooledCache(capacity);
        long found = 0;
        long full = 0;
        for (Load.Sessions sessions = load.open(); sessions.hasNext();) {
            for (Turn turn : sessions.next().turns()) {
                found += cache.use(turn) / GeneratedLoad.PIECE;
                full += turn.prompt().length() / GeneratedLoad.PIECE;
            }
        }
        return (double) found / full;
    }

    /** Each request with all its blocks, which can all be found. */
    private static Survey.Uses uses(int[][] requests) {
        List<Integer> blocks = new ArrayList<>();
        int[] ends = new int[requests.length];
        int[] matchable = new int[requests.length];
        int distinct = 0;
        for (int i = 0; i < requests.length; i++) {
            for (int block : requests[i]) {
                blocks.add(block);
                distinct = Math.max(distinct, block + 1);
            }
            ends[i] = blocks.size();
            matchable[i] = requests[i].length;
        }
        return new Survey.Uses(blocks.stream().mapToInt(Integer::intValue).toArray(), ends, matchable, distinct);
    }
}
