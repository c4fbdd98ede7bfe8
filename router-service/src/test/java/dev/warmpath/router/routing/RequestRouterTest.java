package dev.warmpath.router.routing;

import static dev.warmpath.router.fleet.TestWorkers.registration;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.fleet.UnreadyWorker;
import dev.warmpath.router.fleet.WorkerView;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.routing.LeftOut.Reason;
import dev.warmpath.router.routing.RouteDecision.NoWorker;
import dev.warmpath.router.routing.RouteDecision.NoWorkerReason;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.RouteResult.Unplaced;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RequestRouterTest extends TwoWorkers {

    private static final RouterId SELF = new RouterId("self");
    private static final RouterId OTHER = new RouterId("other");

    private final RequestRouter router = new RequestRouter(fleet, index, new ExpectedFirstToken(), () -> now, SELF);

    @Test
    void a_hundred_unrelated_prompts_one_after_the_other_take_turns() {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            Placed placed = place(randomTokens(200));
            counts.merge(placed.worker().id(), 1, Integer::sum);
            finish(placed);
        }
        assertThat(counts).containsEntry("a", 50).containsEntry("b", 50);
    }

    /** A prompt's first block is the same for all, as a chat template's header is. */
    @Test
    void a_common_first_block_does_not_heap_prompts_on_one_worker() {
        int[] header = randomTokens(16);
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            int[] tokens = concat(header, randomTokens(100));
            Placed placed = place(tokens);
            counts.merge(placed.worker().id(), 1, Integer::sum);
            compute(placed.worker(), tokens);
            finish(placed);
        }
        assertThat(counts.get("a")).isBetween(35, 65);
    }

    @Test
    void all_follow_ups_of_twenty_prefixes_go_where_the_first_request_went_even_if_the_prefix_is_short() {
        for (int prefixTokens : new int[] {40, 64, 1_000}) {
            List<int[]> prefixes = new ArrayList<>();
            List<String> homes = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                prefixes.add(randomTokens(prefixTokens));
                homes.add(serve(concat(prefixes.get(i), randomTokens(30))));
            }
            for (int repeat = 0; repeat < 4; repeat++) {
                for (int i = 0; i < 20; i++) {
                    assertThat(serve(concat(prefixes.get(i), randomTokens(30)))).isEqualTo(homes.get(i));
                }
            }
            assertThat(homes).contains("a", "b");
        }
    }

    @Test
    void prompts_that_only_begin_alike_and_arrive_together_are_computed_side_by_side_where_nobody_waits() {
        int[] shared = randomTokens(320);

        assertThat(place(concat(shared, randomTokens(40))).worker())
                .isNotSameAs(place(concat(shared, randomTokens(40))).worker());
    }

    /** One of two workers is busy for five seconds: 360 tokens count as 660 then. */
    @Test
    void prompts_that_begin_alike_and_arrive_together_go_to_one_worker_where_others_wait() {
        place(randomTokens(1_000));
        now += 5_000_000_000L;
        int[] shared = randomTokens(320);

        assertThat(place(concat(shared, randomTokens(40))).worker())
                .isSameAs(place(concat(shared, randomTokens(40))).worker());
    }

    @Test
    void two_equal_prompts_that_arrive_together_go_to_one_worker() {
        int[] tokens = randomTokens(320);
        Placed first = place(tokens);
        Placed second = place(tokens);

        assertThat(second.worker()).isSameAs(first.worker());
        assertThat(first.decision().cachedTokens()).isZero();
        assertThat(second.decision().cachedTokens()).isEqualTo(304);
        assertThat(second.decision().reason()).isEqualTo(RouteReason.PREFIX);
    }

    @Test
    void shared_blocks_are_held_until_the_last_request_that_shares_them_is_over() {
        int[] shared = randomTokens(320);
        Placed first = place(concat(shared, randomTokens(40)));     // 22 full blocks and one of 8 tokens
        first.inFlight().firstToken();
        Placed second = place(concat(shared, randomTokens(20)));    // 20 of those, one of its own and one of 4 tokens
        String home = first.worker().id();
        assertThat(second.worker().id()).isEqualTo(home);
        assertThat(terms(home).candidate().usedBlocks()).isEqualTo(25);

        finish(first);
        assertThat(terms(home).candidate().usedBlocks()).isEqualTo(22);
        finish(second);
        assertThat(terms(home).candidate().usedBlocks()).isZero();
    }

    /** Slots for eight; for the ninth 2 x 8 + 2 x 8 + 512 there compares with 2 x 200 at the idle one. */
    @Test
    void a_full_worker_does_not_get_more_of_a_hot_prompt() {
        int[] tokens = randomTokens(200);
        List<String> homes = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            Placed placed = place(tokens);
            placed.inFlight().firstToken();
            homes.add(placed.worker().id());
        }
        String hot = homes.getFirst();
        assertThat(homes.stream().filter(hot::equals).count()).isEqualTo(8);
    }

    @Test
    void an_exact_repeat_is_predicted_to_reuse_all_whole_blocks_but_for_one_token() {
        for (int tokenCount : new int[] {1, 15, 16, 17, 32, 33, 320, 321}) {
            int[] tokens = randomTokens(tokenCount);
            serve(tokens);
            assertThat(place(tokens).decision().cachedTokens()).isEqualTo((tokenCount - 1) / 16 * 16);
        }
    }

    @Test
    void blocks_count_as_held_after_the_end_until_the_index_has_them() {
        int[] tokens = randomTokens(100);
        Placed placed = place(tokens);
        finish(placed);
        assertThat(explain(tokens).workerId()).isEqualTo(placed.worker().id());
        assertThat(explain(tokens).matchedBlocks()).isEqualTo(6);

        compute(placed.worker(), tokens);
        serveElsewhere();
        forgetAll(placed.worker());                                // evicted: what the index says now is the truth
        assertThat(explain(tokens).matchedBlocks()).isZero();
    }

    /** Neither heartbeats nor the index's word are taken in by being asked about: two routers, one of them curious. */
    @Test
    void a_decision_is_the_same_however_often_it_was_asked_before_what_it_would_be() {
        for (boolean curious : new boolean[] {false, true}) {
            now = 0;
            two_workers_are_there_anew();
            int[] tokens = randomTokens(640);
            Placed first = place(tokens, Set.of("b"));
            ask(curious, tokens);
            fleet.heartbeat(new Heartbeat("b", 1, 7, 0, 900, 700, 0, 0, 0));
            ask(curious, tokens);
            fleet.heartbeat(new Heartbeat("b", 1, 4, 0, 960, 600, 0, 0, 0));
            ask(curious, tokens);
            finish(first);
            compute(a, tokens);
            ask(curious, tokens);
            forgetAll(a);
            ask(curious, tokens);

            assertThat(terms("b").candidate().requests()).isEqualTo(4);        // one heartbeat is known, the last
            assertThat(terms("b").candidate().usedBlocks()).isEqualTo(40);
            assertThat(explain(tokens).matchedBlocks()).isEqualTo(39);         // the end was a moment ago
            assertThat(place(tokens).worker()).isSameAs(a);
        }
    }

    private void ask(boolean curious, int[] tokens) {
        for (int i = 0; curious && i < 100; i++) {
            explain(tokens);
        }
    }

    @Test
    void what_runs_and_was_known_counts_no_more_once_the_index_has_lost_it() {
        int[] tokens = randomTokens(100);
        Placed running = place(tokens);
        running.inFlight().firstToken();
        compute(running.worker(), tokens);
        serveElsewhere();                                          // which has seen that the index knows it
        assertThat(explain(tokens).matchedBlocks()).isEqualTo(6);

        forgetAll(running.worker());
        assertThat(explain(tokens).matchedBlocks()).isZero();
    }

    /** Seen in step by who only asks, then out of step again: what was sent there half a minute ago is no history. */
    @Test
    void asking_does_not_keep_a_history_that_a_decision_would_have_forgotten() {
        for (boolean curious : new boolean[] {false, true}) {
            now = 0;
            two_workers_are_there_anew();
            int[] tokens = randomTokens(100);
            hear(a, 1);
            finish(place(tokens, Set.of("b")));
            now += 2_000_000_001L;
            assertThat(explain(tokens).matchedBlocks()).as("the history").isEqualTo(6);
            hear(a, 0);                                            // in step again
            ask(curious, tokens);
            serveElsewhere();
            hear(a, 1);
            now += 2_000_000_001L;

            assertThat(explain(tokens).matchedBlocks()).isZero();
        }
    }

    @Test
    void blocks_whose_events_never_come_are_forgotten_after_two_seconds() {
        int[] tokens = randomTokens(100);
        finish(place(tokens));
        now = 2_000_000_000L;
        assertThat(explain(tokens).matchedBlocks()).isEqualTo(6);
        now++;
        assertThat(explain(tokens).matchedBlocks()).isZero();
    }

    /** What follows the index while it is exact is gone from it, or too old; what follows the gap is not. */
    @Test
    void a_worker_out_of_step_is_weighed_by_index_and_own_history_then_by_load_alone() {
        int[] before = randomTokens(100);
        compute(a, before);
        hear(a, 1);
        int[] after = randomTokens(100);
        finish(place(after, Set.of("b")));

        now += 2_000_000_000L;
        assertThat(terms("a").candidate().indexAge()).isEqualTo(new IndexAge(1, 2_000_000_000L));
        assertThat(terms("b").candidate().indexAge()).isEqualTo(IndexAge.IN_STEP);
        assertThat(explain(before).snapshot().indexGrade()).isEqualTo(IndexGrade.EXACT);
        now++;
        assertThat(explain(before).snapshot().indexGrade()).isEqualTo(IndexGrade.HISTORY);
        assertThat(explain(before).matchedBlocks()).isEqualTo(6);
        now += 27_999_999_999L;
        assertThat(explain(after).snapshot().indexGrade()).isEqualTo(IndexGrade.HISTORY);
        assertThat(explain(after).matchedBlocks()).isEqualTo(6);
        now++;
        assertThat(explain(after).snapshot().indexGrade()).isEqualTo(IndexGrade.LOAD);
        assertThat(explain(before).matchedBlocks()).isZero();
        assertThat(explain(after).matchedBlocks()).isZero();
        assertThat(terms("b").candidate().grade()).isEqualTo(IndexGrade.EXACT);

        compute(a, randomTokens(16));
        compute(a, randomTokens(16));
        assertThat(explain(before).snapshot().indexGrade()).isEqualTo(IndexGrade.EXACT);
        assertThat(explain(before).matchedBlocks()).isEqualTo(6);
        assertThat(explain(after).matchedBlocks()).isZero();       // the worker does not announce it: it was evicted
    }

    /** 6 of its blocks announced in step; then a batch is missing. */
    @Test
    void what_a_worker_assumes_counts_as_what_another_one_knows_and_ages_as_that_does() {
        FleetWorker c = ready(registration("c", 1).withAssumed(true));
        int[] tokens = randomTokens(100);
        compute(c, tokens);

        Routed fresh = explain(tokens);
        assertThat(fresh.snapshot().indexGrade()).isEqualTo(IndexGrade.ASSUMED);
        assertThat(fresh.workerId()).isEqualTo("c");
        assertThat(terms("a").candidate().grade()).isEqualTo(IndexGrade.EXACT);
        assertThat(fresh.snapshot().candidates().getLast().candidate().promisedBlocks()).isEqualTo(6);
        hear(c, 1);
        now += 2_000_000_001L;
        assertThat(explain(tokens).snapshot().indexGrade()).isEqualTo(IndexGrade.HISTORY);
        now += 28_000_000_000L;
        assertThat(explain(tokens).snapshot().indexGrade()).isEqualTo(IndexGrade.LOAD);
    }

    /** After a gap the copy is empty until the snapshot comes. What runs there was in the index, and counts again. */
    @Test
    void own_requests_count_while_an_emptied_copy_waits_for_its_snapshot() {
        int[] running = randomTokens(100);
        int[] over = randomTokens(100);
        Placed first = place(running, Set.of("b"));
        Placed second = place(over, Set.of("b"));
        first.inFlight().firstToken();
        compute(a, running);
        explain(running);
        hear(a, 0);
        a.events().apply(new KvEventBatch("a", 1, 99, false, List.of(), 0, 0));
        finish(second);

        assertThat(explain(running).matchedBlocks()).isEqualTo(6);
        assertThat(explain(over).matchedBlocks()).isEqualTo(6);
        now += 10_000_000_000L;
        assertThat(explain(running).matchedBlocks()).isEqualTo(6);
        assertThat(explain(over).matchedBlocks()).isEqualTo(6);
    }

    /** 1,000 blocks at the worker: two generations of 500 keys. */
    @Test
    void the_history_is_bounded_by_the_pool_and_the_oldest_prompts_go_first() {
        hear(a, 1);
        List<int[]> prompts = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            prompts.add(randomTokens(161));                        // 10 full blocks
            finish(place(prompts.get(i), Set.of("b")));
        }
        now += 2_000_000_001L;

        assertThat(prompts.stream().filter(prompt -> explain(prompt).matchedBlocks() == 10)).hasSize(100);
        assertThat(explain(prompts.get(49)).matchedBlocks()).isZero();
        assertThat(explain(prompts.get(50)).matchedBlocks()).isEqualTo(10);
    }

    /** Six generations' worth of one prompt, all known after the first time: the other one need not give way. */
    @Test
    void a_prompt_that_comes_again_and_again_takes_its_place_in_the_history_once() {
        hear(a, 1);
        int[] other = randomTokens(161);
        int[] popular = randomTokens(161);
        finish(place(other, Set.of("b")));
        for (int i = 0; i < 300; i++) {
            finish(place(popular, Set.of("b")));
        }
        now += 2_000_000_001L;

        assertThat(explain(other).matchedBlocks()).isEqualTo(10);
        assertThat(explain(popular).matchedBlocks()).isEqualTo(10);
    }

    @Test
    void the_history_keeps_of_a_prompt_longer_than_a_generation_the_blocks_that_fit() {
        hear(a, 1);
        int[] longer = randomTokens(16 * 700 + 1);
        finish(place(longer, Set.of("b")));
        now += 2_000_000_001L;

        assertThat(explain(longer).matchedBlocks()).isEqualTo(500);
    }

    @Test
    void a_request_that_ended_before_its_first_token_leaves_nothing_behind() {
        int[] tokens = randomTokens(100);
        Placed placed = place(tokens);
        placed.inFlight().close();

        assertThat(explain(tokens).matchedBlocks()).isZero();
        assertThat(router.inFlight()).isZero();
    }

    @Test
    void firstToken_and_close_count_once() {
        Placed placed = place(randomTokens(100));
        placed.inFlight().firstToken();
        placed.inFlight().firstToken();
        assertThat(terms("a").candidate().pendingTokens() + terms("b").candidate().pendingTokens()).isZero();
        placed.inFlight().close();
        placed.inFlight().close();
        placed.inFlight().firstToken();
        assertThat(terms("a").candidate()).isEqualTo(CandidateBuilder.named("a").chosen(1).build());
    }

    @Test
    void what_a_worker_tells_of_its_steps_counts_for_it_and_for_those_of_its_revision_that_tell_nothing() {
        place(randomTokens(640), Set.of("b"));
        var cost = new StepCost(194, 67, 0, 102);
        var others = new RouterLoad(OTHER, 2, 0, 0);
        fleet.heartbeat(new Heartbeat("a", 1, 3, 0, 900, 640, 0, 0, 0, false, 0, false, 1,
                List.of(new RouterLoad(SELF, 1, 1, 640), others), /* contextTokens */ 640 + 5_000, cost, false));

        assertThat(terms("a").candidate().stepCost()).isEqualTo(cost);
        assertThat(terms("a").candidate().contextTokens()).isEqualTo(5_640);
        assertThat(terms("b").candidate().stepCost()).as("it runs the same model").isEqualTo(cost);
        fleet.heartbeat(new Heartbeat("a", 1, 3, 0, 900, 640, 0, 0, 0, false, 0, false, 1,
                List.of(new RouterLoad(SELF, 1, 1, 640), others), 640 + 5_400, new StepCost(-1, 0, 0, 0), false));
        assertThat(terms("a").candidate().stepCost()).as("unusable, so the last one").isEqualTo(cost);
        assertThat(terms("a").candidate().contextTokens()).isEqualTo(6_040);
    }

    @Test
    void a_worker_of_which_nothing_is_known_costs_the_usual() {
        assertThat(terms("a").candidate().stepCost()).isEqualTo(StepCost.USUAL);
    }

    /** Three share 20 blocks at a, one of them 40; nobody shares with a prompt of its own. */
    @Test
    void the_policy_sees_how_many_use_how_much_of_a_prompt_now() {
        int[] deep = randomTokens(40 * 16 + 1);
        int[] shallow = Arrays.copyOf(deep, 21 * 16);
        shallow[20 * 16] = deep[20 * 16] + 1;
        place(deep, Set.of("b"));
        place(shallow, Set.of("b"));
        place(shallow, Set.of("a"));

        assertThat(place(deep).decision().snapshot().query().uses())
                .containsExactly(new PrefixUse(40, 1), new PrefixUse(20, 3));
        assertThat(place(randomTokens(100)).decision().snapshot().query().uses()).isEmpty();
    }

    /** A token took a millisecond at a: 72 of its own, 187 for the request before it, 128 for any first token. */
    @Test
    void the_first_token_is_predicted_by_the_pace_of_the_chosen_worker_once_that_is_known() {
        assertThat(place(randomTokens(72), Set.of("b")).decision().predictedFirstTokenNanos()).isNegative();
        for (int i = 0; i < 8; i++) {
            a.health().firstToken(/* workTokens */ 872, /* elapsedNanos */ 1_000_000_000L);
        }

        Candidate busy = terms("a").candidate();
        assertThat(busy.pendingTokens() + Math.round(busy.fixedTokens())).as("and its step").isEqualTo(72 + 114);
        assertThat(place(randomTokens(72), Set.of("b")).decision().predictedFirstTokenNanos())
                .isEqualTo((72 + 187 + 128) * 1_000_000L);
    }

    @Test
    void an_ejected_worker_gets_one_request_in_a_hundred_until_three_of_them_went_well() {
        eject(a);
        now += Duration.ofSeconds(2).toNanos();
        List<Integer> trials = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            Placed placed = place(randomTokens(100));
            if (placed.worker() == a && trials.size() < 3) {
                assertThat(placed.decision().reason()).isEqualTo(RouteReason.TRIAL);
                trials.add(i);
                a.health().answered(now, now);
            }
            finish(placed);
        }
        assertThat(trials).containsExactly(0, 100, 200);
        assertThat(a.health().state(now)).isEqualTo(HealthState.HEALTHY);
        assertThat(place(randomTokens(100)).decision().snapshot().candidates()).hasSize(2);
    }

    @Test
    void a_retry_is_no_trial_and_neither_is_an_explanation() {
        eject(a);
        now += Duration.ofSeconds(2).toNanos();
        FleetWorker c = ready("c");
        for (int i = 0; i < 200; i++) {
            assertThat(explain(randomTokens(100)).reason()).isNotEqualTo(RouteReason.TRIAL);
            Placed retry = (Placed) router.route(prompt(randomTokens(100)), Set.of("b"));
            assertThat(retry.worker()).isSameAs(c);
            retry.inFlight().close();
        }
        assertThat(place(randomTokens(100)).decision().reason()).isEqualTo(RouteReason.TRIAL);
    }

    /** A request a second: the hundredth would come late. */
    @Test
    void where_requests_are_rare_there_is_a_trial_a_minute() {
        eject(a);
        int trials = 0;
        for (int i = 0; i < 600; i++) {
            now += Duration.ofSeconds(1).toNanos();
            Placed placed = place(randomTokens(100));
            if (placed.worker() == a) {
                trials++;
                a.health().failed("worker_lost", now, now);
            }
            placed.inFlight().close();
        }
        assertThat(trials).isEqualTo(10);
    }

    @Test
    void where_everybody_is_ejected_requests_are_placed_all_the_same() {
        eject(a);
        eject(b);
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            Placed placed = place(randomTokens(100));
            counts.merge(placed.worker().id(), 1, Integer::sum);
            placed.inFlight().close();
        }
        assertThat(counts).containsEntry("a", 50).containsEntry("b", 50);
    }

    /** 60 requests with the same beginning; a announces all of it and never finds it. */
    @Test
    void a_worker_that_never_finds_what_it_promises_is_followed_seven_times() {
        int[] prefix = randomTokens(800);
        compute(a, prefix);
        List<String> homes = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            int[] tokens = concat(prefix, randomTokens(100));
            Placed placed = place(tokens);
            assertThat(placed.decision().chosen().candidate().promisedBlocks() > 0)
                    .isEqualTo(placed.worker() == a || i > 7);
            homes.add(placed.worker().id());
            if (placed.worker() == a) {
                a.health().found(800, 0);
            } else {
                compute(b, tokens);
                b.health().found(800, 800);
            }
            finish(placed);
            now += Duration.ofSeconds(3).toNanos();                // what the router itself sent there is forgotten
        }
        assertThat(homes.subList(0, 7)).containsOnly("a");
        assertThat(homes.subList(8, 60)).containsOnly("b");
        assertThat(a.health().credit()).isZero();
    }

    @Test
    void an_unreachable_worker_gets_nothing_and_all_again_once_it_answers() {
        eject(a);
        now += Duration.ofSeconds(2).toNanos();
        a.health().probeUnanswered("Read timed out");
        a.health().probeUnanswered("Read timed out");
        for (int i = 0; i < 200; i++) {
            Placed placed = place(randomTokens(100));
            assertThat(placed.worker()).isSameAs(b);
            placed.inFlight().close();
        }
        a.health().probeAnswered();
        assertThat(place(randomTokens(100)).decision().reason()).isEqualTo(RouteReason.TRIAL);
    }

    @Test
    void a_long_prompt_pending_at_one_worker_sends_the_next_one_to_the_other() {
        Placed first = place(randomTokens(1_000));

        assertThat(place(randomTokens(100)).worker()).isNotSameAs(first.worker());
    }

    @Test
    void excluded_workers_are_not_chosen_and_none_left_is_said_so() {
        int[] tokens = randomTokens(100);

        assertThat(place(tokens, Set.of("a")).worker()).isSameAs(b);
        assertThat(unplaced(tokens, Set.of("a", "b")).reason()).isEqualTo(NoWorkerReason.ALL_EXCLUDED);
        fleet.remove(a, "test");
        fleet.remove(b, "test");
        assertThat(unplaced(tokens, Set.of())).isEqualTo(new NoWorker(NoWorkerReason.NONE_READY, LeftOut.NOBODY));
    }

    private NoWorker unplaced(int[] tokens, Set<String> excluded) {
        return ((Unplaced) router.route(prompt(tokens), excluded)).decision();
    }

    @Test
    void who_could_not_be_chosen_is_told_with_the_reason() {
        joining(registration("c", 1));
        fleet.drainWorker("b", true);
        ready("d");
        fleet.heartbeat(new Heartbeat("d", 1, 1, 0, 900, 0, 0, 0, 0, false, /* stepAgeMillis */ 60_000,
                /* hanging */ true, 0, List.of()));
        int[] tokens = randomTokens(100);

        assertThat(explain(tokens).snapshot().leftOut()).isEqualTo(new LeftOut(3, List.of(
                new LeftOut.Worker("b", Reason.DRAINING), new LeftOut.Worker("c", Reason.JOINING),
                new LeftOut.Worker("d", Reason.HANGING))));
        assertThat(place(tokens).decision().snapshot().leftOut()).isEqualTo(explain(tokens).snapshot().leftOut());
        ready("e");
        assertThat(place(tokens, Set.of("a", "gone")).decision().snapshot().leftOut().workers())
                .contains(new LeftOut.Worker("a", Reason.EXCLUDED), new LeftOut.Worker("gone", Reason.EXCLUDED),
                        new LeftOut.Worker("b", Reason.DRAINING));
        fleet.drainWorker("a", true);
        fleet.drainWorker("e", true);
        assertThat(unplaced(tokens, Set.of()).leftOut().count()).isEqualTo(5);
    }

    /** The one that has failed it joins again, and is told once. */
    @Test
    void of_a_hundred_that_could_not_be_chosen_sixteen_are_kept_those_first_that_have_failed_the_request() {
        List<UnreadyWorker> joining = IntStream.range(0, 100)
                .mapToObj(i -> new UnreadyWorker("w" + i, WorkerView.State.JOINING)).toList();

        LeftOut leftOut = LeftOut.of(Set.of("w99"), joining, List.of(), 16);
        assertThat(leftOut.count()).isEqualTo(100);
        assertThat(leftOut.workers()).hasSize(16).startsWith(new LeftOut.Worker("w99", Reason.EXCLUDED))
                .endsWith(new LeftOut.Worker("w14", Reason.JOINING));
    }

    @Test
    void a_request_may_outlive_its_worker() {
        Placed placed = place(randomTokens(100), Set.of("b"));
        fleet.remove(a, "test");
        ready("c");
        place(randomTokens(100), Set.of("b"));
        assertThat(router.inFlight()).isEqualTo(1);
        finish(placed);
        assertThat(router.inFlight()).isEqualTo(1);
    }

    @Test
    void explaining_books_nothing() {
        explain(randomTokens(1_000));

        assertThat(router.inFlight()).isZero();
        assertThat(terms("a").candidate().lastChosen()).isZero();
    }

    /** Another router has given a 700 tokens of work. */
    @Test
    void work_that_other_routers_gave_is_known_from_the_heartbeat() {
        fleet.heartbeat(new Heartbeat("a", 1, 2, 1, 900, 700, 0, 0, 0));

        Candidate candidate = terms("a").candidate();
        assertThat(candidate.pendingTokens()).isEqualTo(700);
        assertThat(candidate.requests()).isEqualTo(3);
        assertThat(candidate.usedBlocks()).isEqualTo(100);
    }

    @Test
    void of_two_heartbeats_the_last_one_counts_as_it_is() {
        fleet.heartbeat(new Heartbeat("a", 1, 7, 0, 900, 700, 0, 0, 0));
        serveElsewhere();
        fleet.heartbeat(new Heartbeat("a", 1, 4, 0, 960, 750, 0, 0, 0));

        Candidate candidate = terms("a").candidate();
        assertThat(candidate.pendingTokens()).isEqualTo(750);
        assertThat(candidate.requests()).isEqualTo(4);
        assertThat(candidate.usedBlocks()).isEqualTo(40);
    }

    /** Ours is 640 tokens, and still under way to the worker, which has 500 of another router's. */
    @Test
    void a_request_that_the_worker_has_not_yet_taken_hides_no_work_of_others() {
        Placed placed = place(randomTokens(640), Set.of("b"));
        fleet.heartbeat(telling("a", 960, 2, new RouterLoad(OTHER, 2, 1, 500)));

        assertLoad("a", /* tokens */ 640 + 500, /* pending */ 1 + 1, /* requests */ 1 + 2);
        finish(placed);
        assertLoad("a", 500, 1, 2);
    }

    /** The worker has heard of no end, its last heartbeat came after we did. */
    @Test
    void a_request_that_has_just_ended_is_not_taken_for_that_of_others() {
        Placed placed = place(randomTokens(640), Set.of("b"));
        finish(placed);
        fleet.heartbeat(telling("a", 960, 1, new RouterLoad(SELF, 1, 1, 640)));

        assertLoad("a", 0, 0, 0);
    }

    /** The worker has 100 of the 640 tokens left to compute, and 500 and 30 that others have sent. */
    @Test
    void own_work_counts_by_the_books_and_that_of_others_by_the_worker() {
        place(randomTokens(640), Set.of("b"));
        fleet.heartbeat(telling("a", 880, 5, new RouterLoad(SELF, 1, 1, 100), new RouterLoad(OTHER, 3, 2, 500),
                new RouterLoad(new RouterId("third"), 1, 1, 30)));

        assertLoad("a", 640 + 530, 1 + 3, 1 + 4);
        assertThat(terms("a").candidate().usedBlocks()).as("40 of ours, and all beyond those").isEqualTo(120);
    }

    /** Whoever does not say who it is, and who is one too many to be told apart. */
    @Test
    void what_is_nobodys_part_counts_as_work_of_others() {
        place(randomTokens(640), Set.of("b"));
        fleet.heartbeat(new Heartbeat("a", 1, 2, 1, 900, 700, 0, 0, 0, false, 0, false, /* pendingRequests */ 2,
                List.of(new RouterLoad(SELF, 1, 1, 640))));

        assertLoad("a", 640 + 60, 1 + 1, 1 + 2);
    }

    /** The 64 that it tells apart have a request each, and ours is the 65th. */
    @Test
    void who_is_one_too_many_to_be_told_apart_finds_its_own_work_by_the_books() {
        place(randomTokens(640), Set.of("b"));
        List<RouterLoad> parts = IntStream.range(0, 64)
                .mapToObj(i -> new RouterLoad(new RouterId("r" + i), 1, 1, 10)).toList();
        fleet.heartbeat(new Heartbeat("a", 1, 8, 57, 900, 640 + 640, 0, 0, 0, false, 0, false,
                /* pendingRequests */ 65, parts));

        assertLoad("a", 640 + 640, 1 + 64, 1 + 64);
        assertThat(terms("a").candidate().usedBlocks()).isEqualTo(100);
    }

    /** As many wait there as are pending at least, one of them ours. */
    @Test
    void at_a_worker_that_tells_no_routers_apart_what_is_beyond_the_books_is_work_of_others() {
        place(randomTokens(640), Set.of("b"));
        fleet.heartbeat(new Heartbeat("a", 1, 2, 3, 900, 700, 0, 0, 0));

        assertLoad("a", 640 + 60, 1 + 2, 1 + 4);
    }

    /** The heartbeat was sent while our own request ran; it must not count for another second after its end. */
    @Test
    void own_work_in_an_old_heartbeat_is_not_taken_for_that_of_others() {
        Placed placed = place(randomTokens(640));
        FleetWorker worker = placed.worker();
        fleet.heartbeat(new Heartbeat(worker.id(), 1, 1, 0, 960, 640, 0, 0, 0));
        finish(placed);

        Candidate candidate = terms(worker.id()).candidate();
        assertThat(candidate.pendingTokens()).isZero();
        assertThat(candidate.requests()).isZero();
        assertThat(candidate.usedBlocks()).isZero();
    }

    /** 1,000 blocks on the device and as many on the host; 1,200 of them hold a prefix. */
    @Test
    void a_worker_with_a_host_tier_is_as_full_as_both_tiers_are() {
        Registration plain = registration("c", 1);
        FleetWorker c = ready(new Registration(plain.protocolVersion(), "c", 1, plain.baseUrl(), plain.model(),
                plain.blockCount(), plain.maxSequences(), true, /* hostBlockCount */ 1_000, 0));
        compute(c, randomTokens(16 * 1_200));

        assertThat(terms("c").candidate().cachedBlocks()).isEqualTo(1_200);
        assertThat(terms("c").candidate().fullness()).isZero();
        compute(c, randomTokens(16 * 400));
        assertThat(terms("c").candidate().fullness()).isCloseTo(0.5, within(1e-9));
    }

    private void assertLoad(String workerId, long pendingTokens, int pendingRequests, int requests) {
        Candidate candidate = terms(workerId).candidate();
        assertThat(candidate.pendingTokens()).isEqualTo(pendingTokens);
        assertThat(candidate.pendingRequests()).isEqualTo(pendingRequests);
        assertThat(candidate.requests()).isEqualTo(requests);
    }

    /** Of a worker that has these routers' requests and nobody else's. */
    private static Heartbeat telling(String workerId, int freeBlocks, int running, RouterLoad... routers) {
        return new Heartbeat(workerId, 1, running, 0, freeBlocks,
                Arrays.stream(routers).mapToLong(RouterLoad::pendingPromptTokens).sum(), 0, 0, 0, false, 0, false,
                Arrays.stream(routers).mapToInt(RouterLoad::pendingRequests).sum(), List.of(routers));
    }

    // ---- requests of the small fleet

    /** Places, computes and announces, and ends a request. @return who served it */
    private String serve(int[] tokens) {
        Placed placed = place(tokens);
        compute(placed.worker(), tokens);
        finish(placed);
        return placed.worker().id();
    }

    private Placed place(int[] tokens) {
        return place(tokens, Set.of());
    }

    private Placed place(int[] tokens, Set<String> excluded) {
        return (Placed) router.route(prompt(tokens), excluded);
    }

    /** A decision about something else, with which the books take in what is known of all workers by now. */
    private void serveElsewhere() {
        finish(place(randomTokens(10)));
    }

    private Routed explain(int[] tokens) {
        return (Routed) router.explain(prompt(tokens));
    }

    private CandidateCost terms(String workerId) {
        return explain(new int[] {1}).snapshot().candidates().stream()
                .filter(terms -> terms.candidate().workerId().equals(workerId)).findFirst().orElseThrow();
    }

    private static int[] concat(int[] first, int[] second) {
        int[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
