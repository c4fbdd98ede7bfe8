package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static dev.warmpath.worker.scheduler.SchedulerWorld.table;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PrefixCacheStats;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The figures of every numbered scenario were produced by vLLM's own code, or follow from them by hand. */
class PreemptionTest {

    private static final SchedulerSettings ROOMY = SchedulerSettings.of(2048, 64, 512);
    private static final SchedulerSettings BY_PRIORITY = ROOMY.withPolicy(SchedulingPolicy.PRIORITY);

    @Test
    @DisplayName("K33: preemption of the last")
    void the_last_to_run_gives_way_and_nobody_is_admitted_in_that_step() {
        var world = new SchedulerWorld(ROOMY, 6, 16, 80);
        Sequence[] ab = world.submit(prompt(0, 32), prompt(1000, 32));

        assertThat(world.step()).containsExactly(32, 32);
        assertThat(table(ab[0])).containsExactly(1, 2);
        assertThat(table(ab[1])).containsExactly(3, 4);

        assertThat(world.step()).containsExactly(1);
        assertThat(table(ab[0])).containsExactly(1, 2, 5);
        assertThat(world.cache.commonPrefixBlocks(ab[0].tokens())).isEqualTo(3);
        assertThat(table(ab[1])).isEmpty();
        assertThat(ab[1].state()).isEqualTo(Alive.PREEMPTED);
        assertThat(world.cache.freeBlocks()).isEqualTo(2);
        assertThat(world.scheduler.waitingCount()).isEqualTo(1);
        assertThat(world.scheduler.recomputePreemptions()).isEqualTo(1);
        assertThat(world.scheduler.swapPreemptions()).isZero();
    }

    @Test
    @DisplayName("K33: resumption")
    void a_preempted_sequence_finds_its_own_blocks_and_computes_one_token() {
        var world = new SchedulerWorld(ROOMY, 8, 16, 112);
        Sequence[] ab = world.submit(prompt(0, 48), prompt(1000, 48));
        world.step();
        assertThat(world.step()).containsExactly(1);
        assertThat(table(ab[0])).containsExactly(1, 2, 3, 7);

        assertThat(world.scheduler.cancel(ab[0])).isTrue();
        assertThat(world.step()).containsExactly(1);

        assertThat(table(ab[1])).containsExactly(4, 5, 6, 7);
        assertThat(world.batch.firstPosition(0)).isEqualTo(48);
        PrefixCacheStats stats = world.cache.stats();
        assertThat(stats.requests()).isEqualTo(2);
        assertThat(stats.queriedTokens()).isEqualTo(96);
        assertThat(stats.hitTokens()).isZero();
        assertThat(stats.preemptedRequests()).isEqualTo(1);
        assertThat(stats.preemptedQueriedTokens()).isEqualTo(49);
        assertThat(stats.preemptedHitTokens()).isEqualTo(48);
        assertThat(ab[1].tokens().cachedTokens()).as("what the first admission found stays").isZero();
        assertThat(ab[1].preemptionCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("K34: the victim has the worst priority, though it was served in this step already")
    void a_victim_gives_back_what_the_step_gave_it() {
        var world = new SchedulerWorld(BY_PRIORITY, 6, 16, 80);
        Sequence low = world.submit(prioritized("low", 5, prompt(0, 32)));
        assertThat(world.step()).containsExactly(32);
        assertThat(table(low)).containsExactly(1, 2);

        Sequence high = world.submit(prioritized("high", 0, prompt(1000, 32)));
        assertThat(world.step()).containsExactly(1, 32);
        assertThat(table(low)).containsExactly(1, 2, 3);
        assertThat(table(high)).containsExactly(4, 5);
        assertThat(world.cache.freeBlocks()).isZero();

        assertThat(world.step()).as("low was served first, and gives its token back").containsExactly(1);
        assertThat(world.batch.sequence(0)).isSameAs(high);
        assertThat(world.batch.totalTokens()).isEqualTo(1);
        assertThat(world.batch.sampleCount(0)).isEqualTo(1);
        assertThat(table(high)).containsExactly(4, 5, 3);
        assertThat(low.state()).isEqualTo(Alive.PREEMPTED);
        assertThat(low.completionTokens()).isEqualTo(2);
        assertThat(world.cache.freeBlocks()).isEqualTo(2);

        world.scheduler.cancel(high);
        assertThat(world.step()).as("34 tokens, 32 hit").containsExactly(2);
        assertThat(table(low)).containsExactly(1, 2, 3);
    }

    @Test
    @DisplayName("K34: keys that the victim was given in this step")
    void blocks_that_the_victim_was_to_fill_in_this_step_cannot_be_found() {
        var settings = BY_PRIORITY.withLongPrefillThreshold(8).withReserveWholeSequence(false);
        var world = new SchedulerWorld(settings, 9, 4, 28);
        Sequence low = world.submit(
                request("low", 4, prompt(0, 24), StopConditions.maxTokens(4), 5, Sequence.NO_DEADLINE));
        assertThat(world.step()).containsExactly(8);
        world.submit(prioritized("high", 0, prompt(1000, 8)));
        assertThat(world.step()).as("all 8 blocks but 2").containsExactly(8, 8);

        assertThat(world.step()).as("low fills those 2, then high needs one").containsExactly(1);
        assertThat(low.state()).isEqualTo(Alive.PREEMPTED);
        assertThat(world.cache.match(low.tokens()).tokenCount()).isEqualTo(16);
    }

    @Test
    void a_sequence_of_the_worst_priority_gives_way_itself_and_the_others_go_on() {
        var world = new SchedulerWorld(BY_PRIORITY, 6, 4, 20);
        Sequence low = world.submit(prioritized("low", 5, prompt(0, 8)));
        world.step();
        Sequence high = world.submit(prioritized("high", 0, prompt(1000, 7)));
        assertThat(world.step()).containsExactly(1, 7);
        assertThat(world.cache.freeBlocks()).isZero();

        for (int i = 0; i < 3; i++) {
            world.step();
        }
        assertThat(low.state()).isEqualTo(Alive.PREEMPTED);
        assertThat(high.state()).isEqualTo(Alive.RUNNING);
        assertThat(high.completionTokens()).isEqualTo(4);
    }

    @Test
    @DisplayName("K36 in the scheduler: swapped out and in again")
    void a_victim_is_swapped_out_and_resumes_where_it_was() {
        var cache = KvCacheSettings.of(6, 4).withPrefixCaching(false).withHostBlockCount(4);
        var world = new SchedulerWorld(ROOMY, cache, 20);
        Sequence[] ab = world.submit(prompt(0, 7), prompt(1000, 10));
        assertThat(world.step()).containsExactly(7, 10);
        assertThat(table(ab[1])).containsExactly(3, 4, 5);

        assertThat(world.step()).as("8 and 11 tokens fit").containsExactly(1, 1);
        assertThat(world.step()).as("a's ninth does not").containsExactly(1);

        assertThat(ab[1].state()).isEqualTo(Alive.PREEMPTED);
        assertThat(world.cache.copies()).hasToString("[TO_HOST 3->0, TO_HOST 4->1, TO_HOST 5->2]");
        assertThat(world.cache.freeHostBlocks()).isEqualTo(1);
        assertThat(world.scheduler.swapPreemptions()).isEqualTo(1);
        assertThat(world.scheduler.recomputePreemptions()).isZero();
        world.cache.copies().clear();

        world.scheduler.cancel(ab[0]);
        assertThat(world.step()).as("11 of 12 tokens come back").containsExactly(1);
        assertThat(world.batch.firstPosition(0)).isEqualTo(11);
        assertThat(world.cache.copies().size()).isEqualTo(3);
        assertThat(world.cache.freeHostBlocks()).isEqualTo(4);
    }

    @Test
    @DisplayName("K36 in the scheduler: full swap space")
    void a_victim_that_swap_space_has_no_room_for_is_computed_again() {
        var cache = KvCacheSettings.of(6, 4).withPrefixCaching(false).withHostBlockCount(2);
        var world = new SchedulerWorld(ROOMY, cache, 20);
        Sequence[] ab = world.submit(prompt(0, 7), prompt(1000, 10));
        world.step();
        world.step();
        assertThat(world.step()).containsExactly(1);

        assertThat(world.scheduler.swapPreemptions()).isZero();
        assertThat(world.scheduler.recomputePreemptions()).isEqualTo(1);
        assertThat(world.cache.copies().size()).isZero();
        world.scheduler.cancel(ab[0]);
        assertThat(world.step()).containsExactly(12);
        assertThat(world.batch.firstPosition(0)).isZero();
    }

    @Test
    void a_swapped_sequence_that_is_cancelled_or_whose_copies_were_not_made_gives_its_swap_space_back() {
        var cache = KvCacheSettings.of(6, 4).withPrefixCaching(false).withHostBlockCount(4);
        for (boolean fails : new boolean[] {false, true}) {
            var world = new SchedulerWorld(ROOMY, cache, 20);
            Sequence[] ab = world.submit(prompt(0, 7), prompt(1000, 10));
            world.step();
            world.step();
            world.schedule();
            assertThat(world.cache.freeHostBlocks()).isEqualTo(1);
            if (fails) {
                assertThat(world.scheduler.fail("device lost")).containsExactly(ab[0]);
                assertThat(world.cache.freeHostBlocks()).isEqualTo(4);
                assertThat(world.step()).as("all is computed again").containsExactly(12);
            } else {
                world.settle(world.batch);
                world.scheduler.cancel(ab[1]);
                assertThat(world.cache.freeHostBlocks()).isEqualTo(4);
            }
        }
    }

    @Test
    void a_swapped_sequence_whose_copies_were_made_survives_the_failure_of_a_later_step() {
        var cache = KvCacheSettings.of(6, 4).withPrefixCaching(false).withHostBlockCount(4);
        var world = new SchedulerWorld(ROOMY, cache, 20);
        Sequence[] ab = world.submit(prompt(0, 7), prompt(1000, 10));
        world.step();
        world.step();
        world.step();
        assertThat(ab[1].state()).isEqualTo(Alive.PREEMPTED);

        assertThat(world.schedule()).containsExactly(1);
        assertThat(world.scheduler.fail("device lost")).containsExactly(ab[0]);
        assertThat(world.cache.freeHostBlocks()).as("b's copy is as good as before").isEqualTo(1);
        assertThat(world.step()).as("11 of 12 tokens come back").containsExactly(1);
        assertThat(world.batch.firstPosition(0)).isEqualTo(11);
    }

    @Test
    void what_lies_in_swap_space_is_no_prompt_token_still_to_be_computed() {
        var cache = KvCacheSettings.of(6, 4).withPrefixCaching(false).withHostBlockCount(4);
        var world = new SchedulerWorld(SchedulerSettings.of(10, 4, 8), cache, 20);
        Sequence[] ab = world.submit(prompt(0, 4), prompt(1000, 14));
        assertThat(world.step()).containsExactly(4, 6);
        assertThat(world.step()).as("a takes the fourth of 5 blocks, b wants two").containsExactly(1);

        assertThat(world.scheduler.swapPreemptions()).isEqualTo(1);
        assertThat(ab[1].tokens().computedTokens()).isZero();
        assertThat(world.scheduler.load().pendingPromptTokens()).as("6 of 14 need not be computed again").isEqualTo(8);
    }

    @Test
    void preempted_sequences_keep_their_order_and_stand_before_new_ones() {
        var world = new SchedulerWorld(ROOMY, 7, 4, 24);
        Sequence[] abc = world.submit(prompt(0, 8), prompt(1000, 8), prompt(2000, 8), prompt(3000, 4));
        assertThat(world.step()).containsExactly(8, 8, 8);

        assertThat(world.step()).as("c's two blocks go to a and b").containsExactly(1, 1);
        assertThat(abc[2].state()).isEqualTo(Alive.PREEMPTED);
        assertThat(abc[3].state()).isEqualTo(Alive.WAITING);
        world.scheduler.cancel(abc[0]);
        world.step();
        assertThat(abc[2].state()).isEqualTo(Alive.RUNNING);
        world.scheduler.checkIntegrity();
    }

    private static Sequence prioritized(String id, int priority, int[] prompt) {
        int blockSize = prompt.length > 20 ? 16 : 4;
        return request(id, blockSize, prompt, StopConditions.maxTokens(10), priority, Sequence.NO_DEADLINE);
    }
}
