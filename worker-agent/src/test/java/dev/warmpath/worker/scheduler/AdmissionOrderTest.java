package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static dev.warmpath.worker.scheduler.SchedulerWorld.table;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class AdmissionOrderTest {

    private static final SchedulerSettings ROOMY = SchedulerSettings.of(2048, 64, 512).withOvertakeLimitNanos(100);

    @Test
    void one_that_lacks_blocks_is_overtaken_by_one_that_fits() {
        var world = new SchedulerWorld(ROOMY, 11, 4, 40);
        Sequence[] abc = world.submit(prompt(0, 24), prompt(1000, 32), prompt(2000, 8));

        assertThat(world.step()).as("6 of 10 blocks, then 8 are wanted, then 2").containsExactly(24, 8);
        assertThat(abc[1].state()).isEqualTo(Alive.WAITING);
        assertThat(abc[2].state()).isEqualTo(Alive.RUNNING);
    }

    @Test
    void who_has_waited_as_long_as_the_limit_is_not_overtaken_and_runs_as_soon_as_there_is_room() {
        var world = new SchedulerWorld(ROOMY, 11, 4, 40);
        Sequence[] ab = world.submit(/* maxTokens */ 3, prompt(0, 24), prompt(1000, 32));
        world.step();
        world.nowNanos = 100;
        Sequence small = world.submit(/* maxTokens */ 9, prompt(2000, 8))[0];

        assertThat(world.step()).as("b waits for 100 ns now: nobody jumps").containsExactly(1);
        assertThat(small.state()).isEqualTo(Alive.WAITING);
        assertThat(world.step()).containsExactly(1);
        assertThat(ab[0].isOver()).isTrue();
        assertThat(world.step()).as("8 and 2 blocks").containsExactly(32, 8);
    }

    @Test
    void a_limit_of_zero_is_the_strict_order() {
        var world = new SchedulerWorld(ROOMY.withOvertakeLimitNanos(0), 11, 4, 40);
        world.submit(prompt(0, 24), prompt(1000, 32), prompt(2000, 8));

        assertThat(world.step()).containsExactly(24);
    }

    @Test
    void the_ninth_behind_the_first_is_not_looked_at() {
        var world = new SchedulerWorld(ROOMY, 11, 4, 40);
        int[][] prompts = new int[11][];
        prompts[0] = prompt(0, 24);
        for (int i = 1; i < 10; i++) {
            prompts[i] = prompt(100 * i, 32);
        }
        prompts[10] = prompt(2000, 8);
        Sequence[] sequences = world.submit(prompts);

        assertThat(world.step()).containsExactly(24);
        world.scheduler.cancel(sequences[5]);
        assertThat(world.step()).as("now it is the eighth").containsExactly(1, 8);
    }

    @Test
    void a_lower_priority_does_not_overtake_a_higher_one_that_lacks_blocks() {
        var world = new SchedulerWorld(ROOMY.withPolicy(SchedulingPolicy.PRIORITY), 11, 4, 40);
        world.submit(prompt(0, 24));
        world.step();
        world.submit(prioritized("high", 0, prompt(1000, 32)));
        world.submit(prioritized("low", 1, prompt(2000, 8)));

        assertThat(world.step()).containsExactly(1);
        world.submit(prioritized("as high", 0, prompt(3000, 8)));
        assertThat(world.step()).containsExactly(1, 8);
    }

    @Test
    void the_longest_cached_prefix_among_the_first_goes_first() {
        var world = cacheAware(/* window */ 3);
        Sequence[] waiting = world.submit(prompt(1000, 8), prompt(0, 6), prompt(0, 9), prompt(0, 16));

        assertThat(world.step()).as("8 of 9 tokens are cached; the fourth has more, but is not looked at")
                .containsExactly(1);
        assertThat(waiting[2].state()).isEqualTo(Alive.RUNNING);
    }

    @Test
    void a_prefix_that_is_being_computed_counts_as_cached() {
        var world = new SchedulerWorld(ROOMY.withCacheAwareWindow(4), 40, 4, 40);
        world.submit(prompt(0, 8), prompt(1000, 8), prompt(0, 9));

        assertThat(world.step()).as("the third follows the first").containsExactly(8, 1, 8);
    }

    @Test
    void nobody_is_overtaken_for_the_cache_who_has_waited_as_long_as_the_limit() {
        var world = cacheAware(/* window */ 3);
        Sequence[] waiting = world.submit(/* maxTokens */ 1, prompt(1000, 8), prompt(0, 9));
        world.nowNanos += 100;

        world.step();
        assertThat(waiting[0].isOver()).isTrue();
        assertThat(waiting[1].state()).isEqualTo(Alive.WAITING);
    }

    /** One runs at a time; a prompt of 16 tokens from 0 on is cached. */
    private static SchedulerWorld cacheAware(int window) {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 1, 8).withCacheAwareWindow(window)
                .withOvertakeLimitNanos(100), 40, 4, 40);
        world.submit(/* maxTokens */ 1, prompt(0, 17));
        world.step();
        return world;
    }

    @Test
    @DisplayName("K19 in the scheduler: the watermark")
    void an_admission_leaves_the_watermark_free_while_others_run() {
        var cache = KvCacheSettings.of(21, 4).withWatermark(0.2);
        var world = new SchedulerWorld(ROOMY, cache, 80);
        Sequence[] ab = world.submit(prompt(0, 64), prompt(1000, 4));

        assertThat(world.step()).as("16 blocks are taken, 4 have to stay free").containsExactly(64);
        assertThat(ab[1].state()).isEqualTo(Alive.WAITING);
        assertThat(world.step()).as("a running one may take block 17").containsExactly(1);
        assertThat(table(ab[0])).hasSize(17).endsWith(17);
        world.scheduler.cancel(ab[0]);
        assertThat(world.step()).as("nobody runs: the watermark does not count").containsExactly(4);
    }

    @Test
    @DisplayName("K20 in the scheduler: the whole sequence must fit")
    void a_prompt_is_admitted_only_if_all_of_it_fits_and_not_only_its_first_chunk() {
        var settings = SchedulerSettings.of(16, 4, 8);
        int[] prompt = prompt(1000, 128);
        var reserving = new SchedulerWorld(settings, 11, 16, 160);
        reserving.submit(prompt(0, 48));
        for (int i = 0; i < 3; i++) {
            reserving.step();
        }
        Sequence waits = reserving.submit(prompt)[0];
        assertThat(reserving.step()).as("8 blocks are wanted, 6 are free").containsExactly(1);
        assertThat(waits.state()).isEqualTo(Alive.WAITING);

        var hoping = new SchedulerWorld(settings.withReserveWholeSequence(false), 11, 16, 160);
        hoping.submit(prompt(0, 48));
        for (int i = 0; i < 3; i++) {
            hoping.step();
        }
        hoping.submit(prompt);
        assertThat(hoping.step()).containsExactly(1, 15);
    }

    @Test
    void a_follower_waits_for_its_leaders_prompt_keeps_nobody_up_and_then_computes_one_token() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 4, 8), 20, 4, 40);
        Sequence leader = request("leader", 4, prompt(0, 10), 5);
        Sequence follower = leader.follower(SamplingParameters.GREEDY);
        world.submit(leader);
        world.submit(follower);
        world.submit(prompt(1000, 3));

        assertThat(world.step()).containsExactly(8);
        assertThat(world.step()).as("the stranger passes").containsExactly(2, 3);
        assertThat(world.step()).as("leader, stranger, follower").containsExactly(1, 1, 1);
        assertThat(world.batch.sequence(2)).isSameAs(follower);
        assertThat(world.batch.firstPosition(2)).isEqualTo(9);
        assertThat(table(leader)).containsExactly(1, 2, 3);
        // two full blocks are shared; the leader had written its first token before, so the follower copies block 3
        assertThat(table(follower)).startsWith(1, 2).hasSize(3).doesNotContain(3);
        assertThat(follower.completionTokens()).isEqualTo(1);
    }

    @Test
    void the_copy_that_a_follower_needs_is_asked_for_before_its_step() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 4, 8), 20, 4, 40);
        Sequence leader = request("leader", 4, prompt(0, 6), 5);
        Sequence follower = leader.follower(SamplingParameters.GREEDY);
        world.submit(leader);
        world.submit(follower);
        world.step();
        assertThat(world.cache.copies().size()).isZero();

        world.step();
        assertThat(world.cache.copies()).hasToString("[WITHIN_DEVICE 2->" + table(follower)[1] + "]");
        assertThat(table(leader)).containsExactly(1, 2);
    }

    @Test
    void a_follower_whose_leader_is_gone_is_admitted_like_anybody_else() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 4, 8), 20, 4, 40);
        Sequence leader = request("leader", 4, prompt(0, 10), 5);
        Sequence follower = leader.follower(SamplingParameters.GREEDY);
        world.submit(leader);
        world.submit(follower);
        world.step();
        world.scheduler.cancel(leader);

        assertThat(world.step()).as("8 tokens are cached").containsExactly(2);
        assertThat(table(follower)).startsWith(1, 2);
    }

    @Test
    void a_follower_of_a_leader_that_was_refused_does_not_wait_for_it() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 4, 8), 20, 4, 40);
        Sequence follower = request("leader", 4, prompt(0, 3), 5).follower(SamplingParameters.GREEDY);
        world.submit(follower);

        assertThat(world.step()).containsExactly(3);
    }

    @Test
    void a_leader_is_forked_from_only_when_its_whole_prompt_is_scheduled() {
        Sequence leader = request("leader", 4, prompt(0, 10), 5);
        Sequence follower = leader.follower(SamplingParameters.GREEDY);
        leader.become(Alive.RUNNING);
        follower.become(Alive.WAITING);
        leader.scheduledTokens = 9;
        assertThat(follower.leaderToFork()).isNull();
        assertThat(follower.awaitsLeader()).isTrue();

        leader.scheduledTokens = 10;
        assertThat(follower.leaderToFork()).isSameAs(leader);
        assertThat(follower.awaitsLeader()).isFalse();

        follower.become(Alive.PREEMPTED);
        assertThat(follower.leaderToFork()).as("it has tokens of its own").isNull();
    }

    @Test
    void a_follower_leaves_the_watermark_free_like_anybody_else() {
        // 10 blocks, of which 3 are to stay free: the leader takes 7, and the follower's copy would be the eighth
        var cache = KvCacheSettings.of(11, 4).withWatermark(0.3);
        var world = new SchedulerWorld(SchedulerSettings.of(64, 4, 8), cache, 40);
        Sequence leader = request("leader", 4, prompt(0, 26), 5);
        Sequence follower = leader.follower(SamplingParameters.GREEDY);
        world.submit(leader);
        world.submit(follower);
        assertThat(world.step()).containsExactly(26);
        assertThat(world.cache.freeBlocks()).isEqualTo(3);

        assertThat(world.step()).containsExactly(1);
        assertThat(follower.state()).isEqualTo(Alive.WAITING);
        assertThat(world.cache.freeBlocks()).isEqualTo(3);
        assertThat(world.cache.stats().requests()).as("a refused fork is no admission").isEqualTo(1);
        world.scheduler.cancel(leader);
        assertThat(world.step()).as("nobody runs: the watermark does not count").containsExactly(2);
    }

    @Test
    void each_candidate_is_looked_up_once_a_step_however_many_are_admitted() {
        var settings = SchedulerSettings.of(2048, 64, 512).withCacheAwareWindow(200);
        var cache = new KvCacheManager(KvCacheSettings.of(5_000, 4));
        var waiting = new WaitingQueue();
        for (int i = 0; i < 200; i++) {
            Sequence sequence = request("r" + i, 4, prompt(20 * i, 16), 5);
            sequence.arrival = i;
            waiting.add(sequence);
        }
        var order = new AdmissionOrder(waiting, cache, settings);
        order.begin(0);
        for (int i = 0; i < 50; i++) {
            Sequence sequence = waiting.get(order.next());
            cache.admit(sequence.tokens(), cache.match(sequence.tokens()), 16);
            waiting.remove(sequence);
            order.admitted(sequence);
        }
        assertThat(order.lookUps()).isEqualTo(200);
        order.begin(0);
        order.next();
        assertThat(order.lookUps()).as("a new step").isEqualTo(200 + 150);
    }

    @Test
    void not_more_than_nine_are_tried_in_vain_however_wide_the_window_is() {
        var world = new SchedulerWorld(ROOMY.withCacheAwareWindow(30), 11, 4, 40);
        int[][] prompts = new int[11][];
        prompts[0] = prompt(0, 24);
        for (int i = 1; i < 10; i++) {
            prompts[i] = prompt(100 * i, 32);
        }
        prompts[10] = prompt(2000, 8);
        world.submit(prompts);
        assertThat(world.step()).containsExactly(24);
        assertThat(world.step()).as("those nine need not be tried again, but for the first").containsExactly(1, 8);
    }

    private static Sequence prioritized(String id, int priority, int[] prompt) {
        return request(id, 4, prompt, StopConditions.maxTokens(10), priority, Sequence.NO_DEADLINE);
    }
}
