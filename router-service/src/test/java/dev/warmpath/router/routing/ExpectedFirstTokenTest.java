package dev.warmpath.router.routing;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.routing.RouteDecision.Routed;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExpectedFirstTokenTest {

    private static final int BLOCK_SIZE = 16;
    private final RoutingPolicy policy = new ExpectedFirstToken();

    @Test
    void the_worker_with_the_prefix_wins_among_idle_ones() {
        Routed routed = choose(100, idle("a", 0, 1), idle("b", 3, 2));

        assertThat(routed.workerId()).isEqualTo("b");
        assertThat(routed.matchedBlocks()).isEqualTo(3);
        assertThat(routed.cachedTokens()).isEqualTo(48);
        assertThat(routed.reason()).isEqualTo(RouteReason.PREFIX);
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost).containsExactly(100L, 52L);
    }

    @Test
    void two_blocks_are_worth_following_and_one_is_not() {
        assertThat(choose(100, idle("cold", 0, 1), idle("warm", 2, 2)).workerId()).isEqualTo("warm");
        assertThat(choose(100, idle("cold", 0, 1), idle("warm", 1, 2)).workerId()).isEqualTo("cold");
    }

    @Test
    void a_repeat_of_a_short_prompt_follows_its_only_block() {
        Routed routed = choose(32, idle("cold", 0, 1), idle("warm", 1, 2));

        assertThat(routed.workerId()).isEqualTo("warm");
        assertThat(routed.cachedTokens()).isEqualTo(16);
    }

    @Test
    void idle_workers_that_are_as_good_take_turns() {
        Routed routed = choose(100, idle("a", 0, 7), idle("b", 0, 5), idle("c", 0, 6));

        assertThat(routed.workerId()).isEqualTo("b");
        assertThat(routed.reason()).isEqualTo(RouteReason.TURN);
    }

    /** 1000 pending, 114 for whoever waits and 16 of its own at the warm worker; 128 at the cold one. */
    @Test
    void a_queue_that_is_longer_than_the_saved_work_sends_the_request_elsewhere() {
        Candidate warm = named("warm").matched(7).pending(1_000).pendingRequests(1).requests(1).build();

        Routed routed = choose(128, warm, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("cold");
        assertThat(routed.reason()).isEqualTo(RouteReason.LOAD);
        assertThat(routed.fleetCachedTokens() - routed.cachedTokens()).as("given up").isEqualTo(112);
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost).containsExactly(1_130L, 128L);
    }

    /** 480 tokens wait at the worker that holds 480 of the 640; the other one would compute all. */
    @Test
    void the_busier_the_fleet_the_longer_a_request_waits_for_what_is_cached() {
        Candidate warm = named("warm").matched(30).pending(480).pendingRequests(1).requests(1).build();

        assertThat(choose(pressed(640, /* busyShare */ 0, 0), warm, idle("cold", 0, 1)).workerId()).isEqualTo("cold");
        Routed routed = choose(pressed(640, /* busyShare */ 0.5, 0), warm, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("warm");
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost)
                .containsExactly(160 + 160 + 480 + 114 + 1L, 640 + 640L);
        // 0.98 at most: 50 times as much
        assertThat(choose(pressed(640, 1, 0), warm, idle("cold", 0, 1)).snapshot().candidates().getLast().cost())
                .isEqualTo(32_000);
    }

    /** 600 tokens and their request are 714; a block counts 50 times where all are busy, and they still count once. */
    @Test
    void however_busy_the_fleet_is_a_longer_queue_is_no_tie() {
        Candidate queue = named("queue").pending(600).pendingRequests(1).requests(1).build();
        Candidate decoding = named("decoding").requests(2).chosen(9).build();

        assertThat(choose(pressed(1_000, 0.98, 0), queue, decoding).workerId()).isEqualTo("decoding");
        assertThat(choose(pressed(1_000, 0.98, 0), idle("header", 1, 2), idle("none", 0, 1)).workerId())
                .as("one block is as good as none").isEqualTo("none");
    }

    /** 900 tokens are cached at one worker, which has as many to compute before; the other one is idle, and full. */
    @Test
    void a_session_is_not_copied_into_a_full_cache_whose_blocks_others_will_want_back() {
        Candidate home = named("home").matched(60).pending(1_000).pendingRequests(1).requests(1).cached(1_000).build();
        Candidate roomy = named("roomy").cached(600).chosen(1).build();
        Candidate half = named("half").cached(800).chosen(1).build();
        Candidate full = named("full").cached(1_000).chosen(1).build();

        assertThat(choose(pressed(1_000, 0, /* reuse */ 0.9), home, roomy).workerId()).isEqualTo("roomy");
        assertThat(choose(pressed(1_000, 0, 0.9), home, full).workerId()).isEqualTo("home");
        assertThat(choose(pressed(1_000, 0, /* reuse */ 0.1), home, full).workerId()).as("nobody comes back")
                .isEqualTo("full");
        assertThat(choose(pressed(1_000, 0, 0.9), home, half).snapshot().candidates().getLast().terms()
                .get("eviction")).isEqualTo(450);
    }

    /** A block that leaves the pool goes to the host tier, and can still be found. */
    @Test
    void a_full_pool_in_front_of_a_roomy_host_tier_pushes_nothing_out() {
        assertThat(named("no tier").cached(1_000).build().fullness()).isEqualTo(1);
        assertThat(named("roomy").cached(1_000).hostTier(1_000).build().fullness()).isZero();
        assertThat(named("fuller").cached(1_600).hostTier(1_000).build().fullness()).isCloseTo(0.5, within(1e-9));
    }

    private static RouteQuery pressed(int promptTokens, double busyShare, double reuse) {
        return new RouteQuery(promptTokens, BLOCK_SIZE, 0, 0, 0, busyShare, reuse, List.of());
    }

    /** All 8 slots are taken: 512 for the one that must end first, and 7 for sharing steps. */
    @Test
    void a_worker_without_a_free_slot_is_left_alone_unless_it_saves_more_than_the_wait() {
        Candidate full = named("full").matched(10).requests(8).build();

        assertThat(choose(200, full, idle("cold", 0, 1)).workerId()).isEqualTo("cold");
        Candidate fullOfMuch = named("full").matched(50).requests(8).build();
        Routed routed = choose(1_000, fullOfMuch, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("full");
        assertThat(routed.snapshot().candidates().getFirst().cost()).isEqualTo(200 + 7 + 512);
    }

    /** 20 blocks needed, 4 of them shared, 90 of 100 used: 6 are missing, 96 tokens' worth. */
    @Test
    void missing_memory_costs_what_has_to_be_given_back_first() {
        Candidate tight = named("tight").matched(5).requests(1).used(90).shared(4).blocks(100).build();

        CandidateCost cost = choose(320, tight, idle("cold", 0, 1)).snapshot().candidates().getFirst();
        assertThat(cost.terms().get("memory")).isEqualTo(96);
        assertThat(cost.cost()).isEqualTo(240 + 96);
    }

    /** Each of ten streams of 25,000 tokens adds 8.5 tokens to a usual step of 157: of 10,000 tokens, 543. */
    @Test
    void long_streams_on_a_card_are_left_when_they_slow_what_is_to_come_by_more_than_is_saved() {
        Candidate ten = named("ten").matched(1_125).requests(10).context(250_000).sequences(64).blocks(100_000).build();
        Candidate forty = named("forty").matched(1_125).requests(40).context(1_000_000).sequences(64).blocks(100_000)
                .build();
        Candidate cold = named("cold").blocks(100_000).build();

        Routed stays = choose(20_000, ten, cold);
        assertThat(stays.workerId()).isEqualTo("ten");
        assertThat(stays.snapshot().candidates().getFirst().terms().get("streams")).isEqualTo(5_432);
        Routed leaves = choose(20_000, forty, cold);
        assertThat(leaves.workerId()).isEqualTo("cold");
        assertThat(leaves.reason()).isEqualTo(RouteReason.LOAD);
        Candidate chats = named("chats").matched(64).requests(30).context(30_000).sequences(64).build();
        assertThat(choose(1_100, chats, idle("cold", 0, 1)).snapshot().candidates().getFirst().terms().get("streams"))
                .as("30 chats of 1,000 tokens").isEqualTo(74);
    }

    /**
     * On processors: a stream adds 2.8 tokens to steps that have 4 without it, so each comes to 84 of the prompt's
     * 1,100. Of a copy of 1,056 tokens that five others use, a request pays 2/6.
     */
    @Test
    void five_who_use_one_prompt_at_one_of_two_workers_are_enough_to_copy_it_and_one_is_not() {
        StepCost processor = new StepCost(300, 70, 150, 40);
        Candidate five = named("five").matched(66).requests(5).context(5_500).costing(processor).build();
        Candidate one = named("one").matched(66).requests(1).context(1_100).costing(processor).build();
        Candidate cold = named("cold").chosen(1).costing(processor).build();
        Candidate full = named("full").chosen(1).cached(1_000).costing(processor).build();

        Routed leaves = choose(used(1_100, new PrefixUse(66, 5)), five, cold);
        assertThat(leaves.workerId()).isEqualTo("cold");
        assertThat(leaves.snapshot().candidates().getFirst().terms().get("streams")).isEqualTo(420);
        assertThat(copies(leaves)).containsExactly(0L, -704L);
        Routed stays = choose(used(1_100, new PrefixUse(66, 1)), one, cold);
        assertThat(copies(stays)).containsExactly(0L, 0L);
        assertThat(stays.workerId()).isEqualTo("one");
        assertThat(copies(choose(used(1_100, new PrefixUse(66, 5)), five, full))).as("it would not last")
                .containsExactly(0L, 0L);
    }

    /** What the first one's row will add is no reason: 60 of 900 tokens here. A running answer's is, and adds as much. */
    @Test
    void on_processors_too_the_second_of_two_equal_prompts_waits_for_the_first() {
        StepCost processor = new StepCost(300, 70, 150, 0);
        Candidate twin = named("twin").matched(56).pending(900, 1).costing(processor).build();
        Candidate busy = named("busy").matched(56).pending(900, 1).requests(2).costing(processor).build();
        Candidate cold = named("cold").costing(processor).build();

        Routed waits = choose(900, twin, cold);
        assertThat(waits.workerId()).isEqualTo("twin");
        assertThat(waits.snapshot().candidates().getFirst().terms().get("streams")).isEqualTo(64);
        assertThat(choose(900, busy, cold).workerId()).isEqualTo("cold");
    }

    /** Forty others use 60 blocks, one of them its first 1,000: of those beyond the 60 it would have the only use. */
    @Test
    void a_sessions_own_past_is_not_copied_for_the_sake_of_others() {
        Candidate home = named("home").matched(1_000).requests(41).sequences(64).blocks(10_000).build();
        Candidate cold = named("cold").blocks(10_000).build();

        RouteQuery query = used(16_100, new PrefixUse(1_000, 1), new PrefixUse(60, 41));
        assertThat(copies(choose(query, home, cold))).containsExactly(0L, -Math.round(60 * 16 * (1 - 2 / 42.0)));
    }

    private static RouteQuery used(int promptTokens, PrefixUse... uses) {
        return new RouteQuery(promptTokens, BLOCK_SIZE, 0, 0, 0, /* busyShare */ 0, /* reuse */ 0, List.of(uses));
    }

    private static List<Long> copies(Routed routed) {
        return routed.snapshot().candidates().stream().map(each -> each.terms().get("copy")).toList();
    }

    /** A prompt of 32 tokens that both hold: the one has ten requests before it, which take a step each. */
    @Test
    void of_two_who_hold_a_short_prompt_the_one_without_a_queue_gets_it_whosoever_turn_it_is() {
        Candidate queue = named("queue").matched(1).pending(160, 10).chosen(1).sequences(64).build();
        Candidate idle = named("idle").matched(1).chosen(2).build();

        assertThat(choose(32, queue, idle).workerId()).isEqualTo("idle");
    }

    /** The largest numbers that the protocol takes, at both ends. */
    @Test
    void a_worker_that_tells_of_absurd_costs_is_the_last_choice_and_not_the_first() {
        StepCost absurd = new StepCost(0, 1e-3, 1e9, 1e9);
        Candidate liar = named("liar").matched(66).requests(1 << 20).context(Long.MAX_VALUE).costing(absurd).build();

        Routed routed = choose(1_100, liar, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("cold");
        assertThat(routed.snapshot().candidates().getFirst().cost()).isPositive();
    }

    @Test
    void weights_are_what_is_set() {
        var heavy = new ExpectedFirstToken(new RoutingWeights(/* queuedRequest */ 7, /* missingSlot */ 11,
                /* eviction */ 2, /* stream */ 1, /* failure */ 13));
        Candidate busy = named("busy").pendingRequests(1).requests(8).context(800_000).cached(1_000).failing(1).build();

        Terms terms = heavy.choose(pressed(100, 0, 0.5), List.of(busy)).costs().getFirst().terms();
        assertThat(terms.get("queued")).isEqualTo(800);
        assertThat(terms.get("slots")).isEqualTo(11);
        assertThat(terms.get("eviction")).isEqualTo(100);
        assertThat(terms.get("streams")).as("a step of 268 tokens where 282 are usual").isEqualTo(95);
        assertThat(terms.get("failures")).isEqualTo(13);
    }

    @Test
    void the_only_worker_takes_the_request_however_busy_it_is() {
        Candidate busy = named("busy").pending(100_000).pendingRequests(64).requests(64).used(999).build();

        assertThat(choose(100, busy).reason()).isEqualTo(RouteReason.ONLY_ONE);
    }

    /** 100 here and there, and 205 for one failure after many successes. */
    @Test
    void a_failure_sends_a_short_prompt_elsewhere_and_not_one_with_a_long_prefix() {
        Candidate failed = sick("failed", HealthState.HEALTHY, 0.1, 0);
        Candidate warm = sick("warm", HealthState.HEALTHY, 0.1, 60);

        Routed routed = choose(100, failed, idle("well", 0, 9));
        assertThat(routed.workerId()).isEqualTo("well");
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost).containsExactly(305L, 100L);
        assertThat(routed.snapshot().candidates().getFirst().terms().get("failures")).isEqualTo(205);
        assertThat(choose(1_000, warm, idle("well", 0, 9)).workerId()).isEqualTo("warm");
    }

    @Test
    void an_ejected_worker_and_one_on_trial_are_left_out_whatever_they_hold() {
        Routed routed = choose(1_000, sick("ejected", HealthState.EJECTED, 0.5, 60),
                sick("on trial", HealthState.ON_TRIAL, 0.5, 60), idle("well", 0, 9));

        assertThat(routed.workerId()).isEqualTo("well");
        assertThat(routed.reason()).isEqualTo(RouteReason.ONLY_ONE);
        assertThat(routed.snapshot().candidates()).hasSize(3);
    }

    @Test
    void where_all_are_ejected_the_least_bad_serves() {
        Routed routed = choose(100, sick("bad", HealthState.EJECTED, 0.9, 0),
                sick("less bad", HealthState.EJECTED, 0.5, 0));

        assertThat(routed.workerId()).isEqualTo("less bad");
        assertThat(routed.reason()).isEqualTo(RouteReason.LOAD);
    }

    private static Candidate sick(String id, HealthState health, double failureShare, int matchedBlocks) {
        return named(id).matched(matchedBlocks).health(health).failing(failureShare).build();
    }

    private Routed choose(int promptTokens, Candidate... candidates) {
        return choose(new RouteQuery(promptTokens, BLOCK_SIZE), candidates);
    }

    private Routed choose(RouteQuery query, Candidate... candidates) {
        Choice choice = policy.choose(query, List.of(candidates));
        return new Routed(policy.name(), choice.costs().get(choice.chosen()), choice.reason(), /* unknown */ -1,
                RouteSnapshot.whole(query, choice, LeftOut.NOBODY), null);
    }

    private static Candidate idle(String id, int matchedBlocks, long lastChosen) {
        return named(id).matched(matchedBlocks).chosen(lastChosen).build();
    }
}
