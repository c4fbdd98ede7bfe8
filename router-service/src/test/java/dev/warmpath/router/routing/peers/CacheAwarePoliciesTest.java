package dev.warmpath.router.routing.peers;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.RouteReason;
import org.junit.jupiter.api.Test;

/** The two rules by the name of {@code cache_aware}: a match, unless load says otherwise. */
class CacheAwarePoliciesTest {

    private final PolicyWorld sglang = new PolicyWorld(new SglangCacheAware());
    private final PolicyWorld smg = new PolicyWorld(new SmgCacheAware());

    // ---- SGLang's

    /** 3 blocks of 16 are 48 tokens: 0.3 of 160, and more of 159. */
    @Test
    void sglang_follows_a_match_beyond_three_tenths_of_the_prompt_and_not_of_three_tenths() {
        sglang.with(named("warm").matched(3).requests(1), named("cold"));

        assertThat(sglang.chosen(160)).isEqualTo("cold");
        assertThat(sglang.costs(160)).containsExactly(1L, 0L);
        assertThat(sglang.chosen(159)).isEqualTo("warm");
        assertThat(sglang.reason(159)).isEqualTo(RouteReason.PREFIX);
        assertThat(sglang.costs(159)).containsExactly(111L, 159L);
    }

    /** 80 are more than 1.5 x 15 in both; 15 from 79 are 64, and from 80 one more. */
    @Test
    void sglang_leaves_the_match_when_more_than_64_requests_are_between_the_most_and_the_fewest() {
        assertThat(sglang.with(named("warm").matched(6).requests(79), named("cold").requests(15)).chosen())
                .isEqualTo("warm");
        assertThat(sglang.with(named("warm").matched(6).requests(80), named("cold").requests(15)).chosen())
                .isEqualTo("cold");
    }

    /** 65 are between them either way: 195 is 1.5 x 130, and 194 more than 1.5 x 129. */
    @Test
    void sglang_leaves_the_match_only_if_the_most_are_more_than_one_and_a_half_times_the_fewest() {
        assertThat(sglang.with(named("warm").matched(6).requests(195), named("cold").requests(130)).chosen())
                .isEqualTo("warm");
        assertThat(sglang.with(named("warm").matched(6).requests(194), named("cold").requests(129)).chosen())
                .isEqualTo("cold");
    }

    /** It is the fleet that is uneven, not the worker with the match. */
    @Test
    void sglang_leaves_the_match_of_an_idle_worker_too_when_others_are_uneven() {
        sglang.with(named("warm").matched(6).requests(1), named("idle"), named("busy").requests(70));

        assertThat(sglang.chosen()).isEqualTo("idle");
        assertThat(sglang.with(named("warm").matched(6).requests(1), named("idle"),
                named("busy").requests(70).ejected())
                .chosen()).isEqualTo("warm");
    }

    @Test
    void sglang_takes_of_equal_matches_the_fewest_requests_and_never_an_ejected_one() {
        assertThat(sglang.with(named("a").matched(6).requests(2), named("b").matched(6).requests(1), named("c"))
                .chosen())
                .isEqualTo("b");
        assertThat(sglang.with(named("a").matched(6).ejected(), named("b").requests(1), named("c")).chosen())
                .isEqualTo("c");
    }

    // ---- SMG's

    /**
     * One block of a thousand tokens is followed, since the index is exact; the deepest wins, then the least wait: two
     * running requests are 2,048 tokens.
     */
    @Test
    void smg_follows_any_match_and_of_the_deepest_the_least_expected_wait() {
        smg.with(named("short").matched(1), named("deep").matched(2).pending(2_049, 1),
                named("deep too").matched(2).requests(2));

        assertThat(smg.chosen(1_000)).isEqualTo("deep too");
        assertThat(smg.reason(1_000)).isEqualTo(RouteReason.PREFIX);
        assertThat(smg.costs(1_000)).containsExactly(984L, 968L, 968L);
        assertThat(smg.with(named("short").matched(1), named("deep").matched(2).pending(2_047, 1),
                named("deep too").matched(2).requests(2)).chosen(1_000)).isEqualTo("deep");
    }

    /** Mean 4: the margin is 2 x 2 = 4, and 8 are not more. With 9 and 10 the mean is 4.33 and 4.67, the margin 5. */
    @Test
    void smg_leaves_a_worker_with_more_than_the_mean_and_two_deviations_rounded_up() {
        assertThat(smg.with(named("warm").matched(6).requests(8), named("b").requests(2), named("c").requests(2))
                .chosen())
                .isEqualTo("warm");
        assertThat(smg.with(named("warm").matched(6).requests(9), named("b").requests(2), named("c").requests(2))
                .chosen())
                .isEqualTo("warm");
        smg.with(named("warm").matched(6).requests(10), named("b").requests(2).chosen(2), named("c").requests(2)
                .chosen(1));
        assertThat(smg.chosen()).isEqualTo("c");
        assertThat(smg.reason(100)).isEqualTo(RouteReason.TURN);
    }

    /** Mean 1, deviation 1: twice that is 2, and the margin is 4 all the same: 5 are not more, 6 of mean 1.2 are. */
    @Test
    void smg_keeps_a_margin_of_four_where_counts_are_small() {
        assertThat(smg.with(named("warm").matched(6).requests(5), named("b"), named("c"), named("d"), named("e"))
                .chosen())
                .isEqualTo("warm");
        assertThat(smg.with(named("warm").matched(6).requests(6), named("b"), named("c"), named("d"), named("e"))
                .chosen())
                .isEqualTo("b");
    }

    /** Mean 100, margin 20: 150 is 1.5 x 100, and 152 of mean 101 more than 151.5. */
    @Test
    void smg_leaves_a_worker_only_if_it_has_more_than_one_and_a_half_times_the_mean() {
        assertThat(smg.with(named("warm").matched(6).requests(150), named("b").requests(50))
                .chosen()).isEqualTo("warm");
        assertThat(smg.with(named("warm").matched(6).requests(152), named("b").requests(50)).chosen()).isEqualTo("b");
    }

    /** Unlike SGLang's: 70 between the most and the fewest are nothing to a match elsewhere. */
    @Test
    void smg_looks_at_the_worker_with_the_match_and_not_at_the_fleet() {
        assertThat(smg.with(named("warm").matched(6).requests(1), named("idle"), named("busy").requests(70)).chosen())
                .isEqualTo("warm");
    }

    /** Mean 3.5, margin 4: 10 are too many, though they would be done sooner, and 4 are not. */
    @Test
    void smg_stays_with_a_second_holder_when_the_first_has_too_many_requests() {
        smg.with(named("hot").matched(6).pending(10, 10), named("warm").matched(6).requests(4), named("b"), named("c"));

        assertThat(smg.chosen()).isEqualTo("warm");
        assertThat(smg.reason(100)).isEqualTo(RouteReason.PREFIX);
    }

    /** Mean 8.6, margin 6: 20 are too many for whoever is to take over, and no matter where nobody holds anything. */
    @Test
    void smg_leaves_the_match_for_nobody_who_has_too_many_requests_himself() {
        smg.with(named("warm").matched(6).requests(20), named("hot").pending(20, 20), named("b").requests(1),
                named("c").requests(1).chosen(1), named("d").requests(1).chosen(2));
        assertThat(smg.chosen()).isEqualTo("b");
        assertThat(smg.costs(100)).containsExactly(20_480 + (1L << 48), 20 + (1L << 48), 1_024L, 1_024L, 1_024L);

        smg.with(named("cold").requests(20), named("hot").pending(20, 20), named("b").requests(1),
                named("c").requests(1), named("d").requests(1));
        assertThat(smg.chosen()).isEqualTo("hot");
    }

    /** 300 x 500 / 500 = 300 tokens of pressure, and 300 x 250 / 750 = 100 beside 150 pending ones. */
    @Test
    void smg_sends_what_nobody_holds_to_the_least_expected_wait() {
        smg.with(named("full").used(500), named("pending").used(250).pending(150));

        assertThat(smg.costs(100)).containsExactly(300L, 250L);
        assertThat(smg.chosen()).isEqualTo("pending");
        assertThat(smg.with(named("full").used(500), named("pending").used(250).pending(250))
                .chosen()).isEqualTo("full");
    }

    /** A pool that is full counts as if 0.999 of it were: 300 x 999. */
    @Test
    void smg_counts_a_running_request_as_1024_tokens_and_a_full_pool_as_299_700() {
        smg.with(named("running").requests(3), named("out").used(1_000), named("pending").pending(500, 3));

        assertThat(smg.costs(100)).containsExactly(3_072L, 299_700L, 500L);
    }

    @Test
    void smg_never_takes_an_ejected_one_and_leaves_it_out_of_the_mean() {
        assertThat(smg.with(named("a").matched(6).ejected(), named("b").matched(1)).chosen()).isEqualTo("b");
        // 12 of mean 7 would stay; of 12, 1 and 1 it is far above the mean
        smg.with(named("warm").matched(6).requests(12), named("b").requests(1), named("c").requests(1),
                named("d").requests(200).ejected());
        assertThat(smg.chosen()).isNotEqualTo("warm");
    }
}
