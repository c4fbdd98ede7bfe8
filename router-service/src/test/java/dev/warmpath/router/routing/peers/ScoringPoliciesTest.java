package dev.warmpath.router.routing.peers;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.RouteReason;
import org.junit.jupiter.api.Test;

/** The policies that weigh prefix and load in one number. */
class ScoringPoliciesTest {

    private final PolicyWorld scorer = new PolicyWorld(new LlmDPrefixScorer());
    private final PolicyWorld filter = new PolicyWorld(new LlmDPrefixFilter());
    private final PolicyWorld dynamo = new PolicyWorld(new DynamoCost());
    private final PolicyWorld lmetric = new PolicyWorld(new Lmetric());

    // ---- llm-d's scorers

    /** Half of ten blocks is missing: 2 x 0.5; three tenths of the pool are used: 0.3. All queues are empty. */
    @Test
    void llm_d_counts_a_missing_prefix_twice_and_used_memory_once() {
        scorer.with(named("warm").matched(5).used(300), named("cold"));

        assertThat(scorer.costs(160)).containsExactly(1_300_000L, 2_000_000L);
        assertThat(scorer.chosen(160)).isEqualTo("warm");
        assertThat(scorer.reason(160)).isEqualTo(RouteReason.PREFIX);
    }

    /** Of ten blocks one is worth a fifth of the pool. */
    @Test
    void llm_d_follows_one_block_in_ten_up_to_a_fifth_of_the_pool() {
        assertThat(scorer.with(named("warm").matched(1).used(199), named("cold")).chosen(160)).isEqualTo("warm");
        assertThat(scorer.with(named("warm").matched(1).used(201), named("cold")).chosen(160)).isEqualTo("cold");
    }

    /** 8 sequences are computed at once; of 10 requests two wait, of 9 one, of 8 none: scores 0, 1/2 and 1. */
    @Test
    void llm_d_lays_queues_between_the_shortest_and_the_longest() {
        scorer.with(named("a").requests(10), named("b").requests(9), named("c").requests(8));

        assertThat(scorer.costs(160)).containsExactly(3_000_000L, 2_500_000L, 2_000_000L);
        assertThat(scorer.chosen(160)).isEqualTo("c");
        // one that waits, where nobody else's does, costs as much as half of the prefix
        assertThat(scorer.with(named("warm").matched(6).requests(9), named("cold")).chosen(160)).isEqualTo("warm");
        assertThat(scorer.with(named("warm").matched(4).requests(9), named("cold")).chosen(160)).isEqualTo("cold");
    }

    @Test
    void llm_d_draws_among_equal_scores_and_leaves_ejected_ones_out() {
        scorer.with(named("a"), named("b").requests(3), named("c").ejected());

        assertThat(scorer.draw(0).chosen(160)).isEqualTo("a");
        assertThat(scorer.draw(1).chosen(160)).isEqualTo("b");
        assertThat(scorer.draw(2).chosen(160)).isEqualTo("a");
        assertThat(scorer.reason(160)).isEqualTo(RouteReason.TURN);
        assertThat(scorer.chosen(5)).isEqualTo("a");               // no full block, nothing to hold
    }

    // ---- llm-d's filter

    /** 8 blocks of 10 are four fifths; 7 are less, and then 48 + 900 pending weigh more than 160. */
    @Test
    void llm_d_filter_keeps_who_holds_four_fifths_however_much_is_pending_there() {
        filter.with(named("warm").matched(8).pending(900), named("cold"));
        assertThat(filter.chosen(160)).isEqualTo("warm");
        assertThat(filter.reason(160)).isEqualTo(RouteReason.PREFIX);

        assertThat(filter.with(named("warm").matched(7).pending(900), named("cold")).chosen(160)).isEqualTo("cold");
        assertThat(filter.costs(160)).containsExactly(948L, 160L);
    }

    @Test
    void llm_d_filter_gives_up_the_prefix_when_18_seconds_more_are_pending_there() {
        assertThat(filter.with(named("warm").matched(9).pending(286_804), named("cold").pending(100)).chosen(160))
                .isEqualTo("warm");
        assertThat(filter.with(named("warm").matched(9).pending(286_805), named("cold").pending(100)).chosen(160))
                .isEqualTo("cold");
    }

    /** 50 + 16 against 10 + 32; of equal ones any. */
    @Test
    void llm_d_filter_takes_the_least_work_among_those_that_are_kept() {
        assertThat(filter.with(named("a").matched(9).pending(50), named("b").matched(8).pending(10), named("c"))
                .chosen(160))
                .isEqualTo("b");
        filter.with(named("a").matched(9).pending(16), named("b").matched(8), named("c"));
        assertThat(filter.draw(0).chosen(160)).isEqualTo("a");
        assertThat(filter.draw(1).chosen(160)).isEqualTo("b");
        assertThat(filter.with(named("a").matched(9).ejected(), named("b").pending(1), named("c")).chosen(160))
                .isEqualTo("c");
    }

    // ---- Dynamo's

    /** 160 - 96 + 20 blocks of 16 in use and 10 more are 544; 160 + 50 pending + 10 blocks are 370. */
    @Test
    void dynamo_adds_what_is_to_be_computed_and_what_is_in_use() {
        dynamo.with(named("warm").matched(6).used(20), named("cold").pending(50));

        assertThat(dynamo.costs(160)).containsExactly(544L, 370L);
        assertThat(dynamo.chosen(160)).isEqualTo("cold");
        assertThat(dynamo.reason(160)).isEqualTo(RouteReason.LOAD);
    }

    @Test
    void dynamo_follows_six_blocks_past_five_that_are_in_use_and_not_past_seven() {
        assertThat(dynamo.with(named("warm").matched(6).used(5), named("cold")).chosen(160)).isEqualTo("warm");
        assertThat(dynamo.with(named("warm").matched(6).used(7), named("cold")).chosen(160)).isEqualTo("cold");
    }

    /** 64 to compute, 11 blocks in use and the 4 of 10 that are not among them; all 10, where none is shared. */
    @Test
    void dynamo_counts_blocks_once_that_running_requests_share_with_the_prompt() {
        dynamo.with(named("running").matched(6).used(11).shared(6), named("cached").matched(6).used(11), named("cold"));

        assertThat(dynamo.costs(160)).containsExactly(304L, 400L, 320L);
        assertThat(dynamo.chosen(160)).isEqualTo("running");
    }

    /** Weight 8: 8 x 16 tokens saved outweigh 7 blocks of 16. */
    @Test
    void dynamo_with_a_heavier_prefill_follows_shorter_prefixes() {
        var heavy = new PolicyWorld(new DynamoCost(8));

        assertThat(heavy.with(named("warm").matched(1).used(7), named("cold")).chosen(160)).isEqualTo("warm");
        assertThat(heavy.with(named("warm").matched(1).used(9), named("cold")).chosen(160)).isEqualTo("cold");
        assertThat(dynamo.with(named("warm").matched(1).used(7), named("cold")).chosen(160)).isEqualTo("cold");
    }

    @Test
    void dynamo_draws_among_equal_costs_and_leaves_ejected_ones_out() {
        dynamo.with(named("a").matched(6).used(6).requests(1), named("b"), named("c").matched(9).ejected());

        assertThat(dynamo.draw(0).chosen(160)).isEqualTo("a");
        assertThat(dynamo.draw(1).chosen(160)).isEqualTo("b");
    }

    // ---- lmetric

    /** (160 - 96) x 3 = 192 against 160 x 1. With one request it is 128. */
    @Test
    void lmetric_multiplies_what_is_to_be_computed_with_the_requests() {
        lmetric.with(named("warm").matched(6).requests(2), named("cold"));
        assertThat(lmetric.costs(160)).containsExactly(192L, 160L);
        assertThat(lmetric.chosen(160)).isEqualTo("cold");

        assertThat(lmetric.with(named("warm").matched(6).requests(1), named("cold")).chosen(160)).isEqualTo("warm");
        assertThat(lmetric.choose(160).costs().getFirst().terms().asMap()).containsEntry("prefill", 64L)
                .containsEntry("load", 2L);
    }

    /** (10 + 64) x 2 = 148; (20 + 64) x 2 = 168. */
    @Test
    void lmetric_counts_what_is_pending_before_the_request() {
        assertThat(lmetric.with(named("warm").matched(6).requests(1).pending(10), named("cold")).chosen(160))
                .isEqualTo("warm");
        assertThat(lmetric.with(named("warm").matched(6).requests(1).pending(20), named("cold")).chosen(160))
                .isEqualTo("cold");
    }

    @Test
    void lmetric_takes_of_equal_products_the_fewest_requests_then_the_longest_not_chosen() {
        assertThat(lmetric.with(named("a").matched(5).requests(1), named("b").chosen(9)).chosen(160)).isEqualTo("b");
        assertThat(lmetric.with(named("a").chosen(9), named("b").chosen(8), named("c").ejected()).chosen(160))
                .isEqualTo("b");
    }
}
