package dev.warmpath.router.routing;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

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

    /**
     * 1000 pending, 128 for whoever waits, 16 of its own and one request at the warm worker; 128 at the cold one.
     */
    @Test
    void a_queue_that_is_longer_than_the_saved_work_sends_the_request_elsewhere() {
        Candidate warm = named("warm").matched(7).pending(1_000).pendingRequests(1).requests(1).build();

        Routed routed = choose(128, warm, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("cold");
        assertThat(routed.reason()).isEqualTo(RouteReason.LOAD);
        assertThat(routed.fleetCachedTokens() - routed.cachedTokens()).as("given up").isEqualTo(112);
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost).containsExactly(1_146L, 128L);
    }

    /** 480 tokens wait at the worker that holds 480 of the 640; the other one would compute all. */
    @Test
    void the_busier_the_fleet_the_longer_a_request_waits_for_what_is_cached() {
        Candidate warm = named("warm").matched(30).pending(480).pendingRequests(1).requests(1).build();

        assertThat(choose(pressed(640, /* busyShare */ 0, 0), warm, idle("cold", 0, 1)).workerId()).isEqualTo("cold");
        Routed routed = choose(pressed(640, /* busyShare */ 0.5, 0), warm, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("warm");
        assertThat(routed.snapshot().candidates()).extracting(CandidateCost::cost)
                .containsExactly(160 + 160 + 480 + 128 + 2L, 640 + 640L);
        // 0.98 at most: 50 times as much
        assertThat(choose(pressed(640, 1, 0), warm, idle("cold", 0, 1)).snapshot().candidates().getLast().cost())
                .isEqualTo(32_000);
    }

    /** 600 tokens and their request are 728; a block counts 50 times where all are busy, and they still count once. */
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
        return new RouteQuery(promptTokens, BLOCK_SIZE, 0, 0, 0, busyShare, reuse);
    }

    /** All 8 slots are taken: 512 for the one that must end first, and 16 for sharing steps. */
    @Test
    void a_worker_without_a_free_slot_is_left_alone_unless_it_saves_more_than_the_wait() {
        Candidate full = named("full").matched(10).requests(8).build();

        assertThat(choose(200, full, idle("cold", 0, 1)).workerId()).isEqualTo("cold");
        Candidate fullOfMuch = named("full").matched(50).requests(8).build();
        Routed routed = choose(1_000, fullOfMuch, idle("cold", 0, 1));
        assertThat(routed.workerId()).isEqualTo("full");
        assertThat(routed.snapshot().candidates().getFirst().cost()).isEqualTo(200 + 16 + 512);
    }

    /** 20 blocks needed, 4 of them shared, 90 of 100 used: 6 are missing, 96 tokens' worth. */
    @Test
    void missing_memory_costs_what_has_to_be_given_back_first() {
        Candidate tight = named("tight").matched(5).requests(1).used(90).shared(4).blocks(100).build();

        CandidateCost cost = choose(320, tight, idle("cold", 0, 1)).snapshot().candidates().getFirst();
        assertThat(cost.terms().get("memory")).isEqualTo(96);
        assertThat(cost.cost()).isEqualTo(240 + 2 + 96);
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
