package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.EOS;
import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static dev.warmpath.worker.scheduler.SchedulerWorld.ANY_TOKEN;
import static dev.warmpath.worker.scheduler.SchedulerWorld.table;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import dev.warmpath.worker.scheduler.SequenceState.Cancelled;
import dev.warmpath.worker.scheduler.SequenceState.Failed;
import dev.warmpath.worker.scheduler.SequenceState.Finished;
import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Batches that are scheduled before the last one has settled, and batches of several device steps. */
class StepsInFlightTest {

    private static final SchedulerSettings ROOMY = SchedulerSettings.of(2048, 64, 512);
    private static final SchedulerSettings ASYNC = ROOMY.withAsyncScheduling(true);
    private static final SchedulerSettings FOUR_STEPS = ROOMY.withSteps(4);

    @Test
    void the_next_batch_takes_the_token_from_where_the_one_in_flight_draws_it() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence[] ab = world.submit(prompt(0, 5), prompt(1000, 6));
        assertThat(world.schedule()).containsExactly(5, 6);
        ScheduledBatch first = world.batch;
        assertThat(first.feedIndex(1, 0)).isEqualTo(ScheduledBatch.NO_SAMPLE);

        assertThat(world.schedule()).as("nothing is known of what the first draws").containsExactly(1, 1);
        ScheduledBatch second = world.batch;
        assertThat(second).isNotSameAs(first);
        assertThat(second.firstPosition(1)).isEqualTo(6);
        assertThat(second.feedIndex(0, 0)).isZero();
        assertThat(second.feedIndex(1, 0)).isEqualTo(1);
        assertThat(ab[0].tokens().pendingTokens()).isEqualTo(2);
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.schedule(0))
                .withMessage("2 batches are neither settled nor failed");
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.settle(second, new int[2]));

        world.settleStep(first, ANY_TOKEN);
        assertThat(ab[0].completionTokens()).isEqualTo(1);
        assertThat(ab[0].tokens().pendingTokens()).isEqualTo(1);
        assertThat(world.schedule()).containsExactly(1, 1);
    }

    @Test
    void a_long_prompt_goes_on_while_its_last_chunk_is_computed() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 4, 4).withAsyncScheduling(true), 20, 4, 32);
        world.submit(prompt(0, 20));

        assertThat(world.schedule()).containsExactly(8);
        assertThat(world.schedule()).containsExactly(8);
        assertThat(world.batch.feedIndex(0, 0)).isEqualTo(ScheduledBatch.NO_SAMPLE);
    }

    @Test
    @DisplayName("spec 6.8: the fence, at the end of a sequence")
    void blocks_of_a_finished_sequence_return_when_the_step_behind_has_settled_and_its_token_is_dropped() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence one = world.submit(prompt(0, 5))[0];
        world.schedule();
        ScheduledBatch first = world.batch;
        world.schedule();
        ScheduledBatch second = world.batch;

        world.settleStep(first, EOS);
        assertThat(one.state()).isEqualTo(Finished.of(FinishReason.STOP));
        assertThat(world.scheduler.runningCount()).isZero();
        assertThat(world.scheduler.isIdle()).as("a step is in flight").isFalse();
        assertThat(world.cache.freeBlocks()).isEqualTo(17);
        assertThat(world.schedule()).as("nothing to do but to settle").isEmpty();

        world.settleStep(second, ANY_TOKEN);
        assertThat(second.tookToken(0)).isFalse();
        assertThat(one.completionTokens()).isEqualTo(1);
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
        assertThat(world.scheduler.isIdle()).isTrue();
    }

    @Test
    @DisplayName("spec 6.8: the fence, at a cancellation")
    void blocks_of_a_cancelled_sequence_return_when_its_steps_have_settled() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence[] ab = world.submit(prompt(0, 5), prompt(1000, 5));
        world.schedule();
        ScheduledBatch first = world.batch;
        world.schedule();

        assertThat(world.scheduler.cancel(ab[0])).isTrue();
        assertThat(world.scheduler.cancel(ab[0])).isFalse();
        assertThat(ab[0].state()).isEqualTo(new Cancelled());
        assertThat(world.cache.freeBlocks()).isEqualTo(15);
        ScheduledBatch second = world.batch;
        world.settleStep(first, ANY_TOKEN);
        assertThat(first.tookToken(0)).isFalse();
        assertThat(first.tookToken(1)).isTrue();
        assertThat(world.cache.freeBlocks()).isEqualTo(15);
        world.settleStep(second, ANY_TOKEN);
        assertThat(world.cache.freeBlocks()).isEqualTo(17);
        assertThat(ab[0].completionTokens()).isZero();
    }

    @Test
    void a_sequence_whose_last_token_is_being_drawn_is_not_scheduled_again() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence one = world.submit(/* maxTokens */ 1, prompt(0, 5))[0];
        world.schedule();
        ScheduledBatch first = world.batch;

        assertThat(world.schedule()).isEmpty();
        world.settleStep(first, ANY_TOKEN);
        assertThat(one.state()).isEqualTo(Finished.of(FinishReason.LENGTH));
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
    }

    @Test
    void nobody_is_preempted_while_a_step_is_in_flight() {
        var world = new SchedulerWorld(ASYNC, 6, 4, 20);
        Sequence[] ab = world.submit(prompt(0, 8), prompt(1000, 8));
        world.schedule();
        ScheduledBatch first = world.batch;
        assertThat(world.schedule()).as("a takes the last block, b has to wait").containsExactly(1);
        ScheduledBatch second = world.batch;
        assertThat(ab[1].state()).isEqualTo(Alive.RUNNING);

        world.settleStep(first, ANY_TOKEN);
        assertThat(world.schedule()).as("until all is settled").isEmpty();
        world.settleStep(second, ANY_TOKEN);
        assertThat(world.schedule()).containsExactly(1);
        assertThat(ab[1].state()).as("b was the last and could not go on").isEqualTo(Alive.PREEMPTED);
        assertThat(world.scheduler.recomputePreemptions() + world.scheduler.swapPreemptions()).isEqualTo(1);
    }

    @Test
    void a_failed_step_fails_the_one_behind_it_and_withdraws_the_keys_of_both() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence a = world.submit(prompt(0, 9))[0];
        world.schedule();
        ScheduledBatch first = world.batch;
        Sequence b = world.submit(prompt(0, 13))[0];
        assertThat(world.schedule()).as("b builds on what a's step is to fill").containsExactly(1, 5);
        assertThat(first.eventCount()).as("a's two keys").isEqualTo(2);
        assertThat(world.batch.eventCount()).as("and b's third").isEqualTo(3);

        assertThat(world.scheduler.fail("device lost")).containsExactly(a, b);

        assertThat(b.state()).isEqualTo(new Failed(FailureReason.ENGINE_FAILURE, "device lost"));
        assertThat(world.cache.drainChanges()).isEmpty();
        assertThat(world.cache.announcedCount()).isZero();
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
        assertThat(world.scheduler.isIdle()).isTrue();
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.fail("again"));
    }

    @Test
    void whoever_was_admitted_last_gives_its_keys_up_first_in_whichever_batches_it_was() {
        var world = new SchedulerWorld(ASYNC, 11, 4, 32);
        world.submit(/* maxTokens */ 1, prompt(0, 9));
        world.step();
        world.submit(/* maxTokens */ 1, prompt(1000, 29));
        world.step();
        world.cache.drainChanges();

        world.submit(prompt(2000, 14));
        world.submit(prompt(0, 7));
        world.submit(/* maxTokens */ 1, prompt(0, 9));
        assertThat(world.schedule()).as("c evicts x and p, a stores p again, b hits it and stores x")
                .containsExactly(14, 7, 5);
        assertThat(world.schedule()).as("c and a go on, b has all that it asked for").containsExactly(1, 1);
        world.scheduler.fail("device lost");

        BlockHashChain evicted = chain(prompt(1000, 28));
        long p = chain(prompt(0, 8)).key(0);
        long x = chain(prompt(0, 8)).key(1);
        assertThat(world.cache.drainChanges()).containsExactly(new BlockChange.Removed(Medium.DEVICE, new long[] {
                evicted.key(6), evicted.key(5), evicted.key(4), evicted.key(3), evicted.key(2), x, p}));
    }

    @Test
    void a_row_of_unusable_logits_fails_its_sequence_alone_and_nobody_finds_what_begins_like_it() {
        var world = new SchedulerWorld(ASYNC, 40, 4, 32);
        int[] pxy = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        int[] pz = {0, 1, 2, 3, 40, 50, 60, 70};
        world.submit(/* maxTokens */ 1, Arrays.copyOf(pxy, 9), Arrays.copyOf(pz, 9), prompt(1000, 9));
        world.step();
        assertThat(world.cache.drainChanges()).hasSize(1);
        assertThat(world.cache.announcedCount()).isEqualTo(5);

        Sequence spoiled = world.submit(Arrays.copyOf(pxy, 13))[0];
        Sequence kin = world.submit(Arrays.copyOf(pz, 9))[0];
        Sequence other = world.submit(prompt(1000, 9))[0];
        assertThat(world.schedule()).as("all but the last of what is cached is found").containsExactly(5, 1, 1);
        ScheduledBatch first = world.batch;
        world.schedule();
        ScheduledBatch second = world.batch;
        world.scheduler.settle(first, new int[] {ScheduledBatch.UNUSABLE, ANY_TOKEN, ANY_TOKEN});
        world.scheduler.checkIntegrity();

        assertThat(spoiled.state()).isEqualTo(new Failed(FailureReason.UNUSABLE_LOGITS,
                "after 13 tokens the model gives no logits that a token could be drawn from"));
        assertThat(first.failed(0)).isTrue();
        assertThat(kin.completionTokens() + other.completionTokens()).isEqualTo(2);
        assertThat(world.scheduler.withholdsNews()).as("y was given a key before this was known").isTrue();
        assertThat(world.schedule()).as("nobody joins before it is told").isEmpty();
        world.scheduler.settle(second, new int[] {ScheduledBatch.UNUSABLE, ANY_TOKEN, ANY_TOKEN});
        assertThat(world.scheduler.withholdsNews()).isFalse();
        assertThat(world.cache.drainChanges()).as("y was never there, kin has shown that p and z are right")
                .containsExactly(new BlockChange.Removed(Medium.DEVICE, new long[] {chain(pxy).key(1)}));
        assertThat(world.cache.announcedCount()).isEqualTo(4);

        world.scheduler.cancel(kin);
        Sequence again = world.submit(Arrays.copyOf(pz, 9))[0];
        assertThat(world.schedule()).containsExactly(1, 1);
        world.scheduler.settle(world.batch, new int[] {ANY_TOKEN, ScheduledBatch.UNUSABLE});
        assertThat(again.isOver()).isTrue();
        assertThat(world.cache.drainChanges()).as("leaf up").containsExactly(new BlockChange.Removed(
                Medium.DEVICE, new long[] {chain(pz).key(1), chain(pz).key(0)}));
    }

    @Test
    void a_row_behind_the_end_of_a_sequence_is_judged_as_well() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        Sequence one = world.submit(prompt(0, 7))[0];
        world.schedule();
        ScheduledBatch first = world.batch;
        world.schedule();
        world.settleStep(first, EOS);
        assertThat(one.state()).isEqualTo(Finished.of(FinishReason.STOP));

        world.scheduler.settle(world.batch, new int[] {ScheduledBatch.UNUSABLE});
        assertThat(world.batch.failed(0)).as("it had ended well").isFalse();
        assertThat(world.cache.drainChanges()).as("its second block was filled by that step").isEmpty();
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
    }

    @Test
    void a_sequence_that_was_in_no_batch_in_flight_survives_a_failure() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 2, 4).withAsyncScheduling(true), 20, 4, 32);
        Sequence[] ab = world.submit(prompt(0, 16), prompt(1000, 4));
        world.schedule();
        world.schedule();
        world.scheduler.fail("device lost");

        assertThat(ab[0].isOver()).isTrue();
        assertThat(ab[1].state()).isEqualTo(Alive.WAITING);
        assertThat(world.step()).containsExactly(4);
    }

    @Test
    void four_steps_are_made_at_once_while_all_decode_and_nobody_waits() {
        var world = new SchedulerWorld(FOUR_STEPS, 20, 4, 32);
        Sequence[] ab = world.submit(/* maxTokens */ 7, prompt(0, 5), prompt(1000, 6));
        world.step();
        assertThat(world.batch.stepCount()).as("prompts are computed in one step").isEqualTo(1);

        assertThat(world.schedule()).containsExactly(1, 1);
        ScheduledBatch batch = world.batch;
        assertThat(batch.stepCount()).isEqualTo(4);
        assertThat(batch.totalTokens(0)).isEqualTo(2);
        assertThat(batch.sampleCount(3)).isEqualTo(2);
        assertThat(batch.feedIndex(1, 0)).isEqualTo(ScheduledBatch.NO_SAMPLE);
        assertThat(batch.feedIndex(1, 1)).isEqualTo(1);
        assertThat(ab[0].tokens().computedTokens()).isEqualTo(9);
        for (int step = 1; step <= 4; step++) {
            world.settleStep(batch, ANY_TOKEN);
            assertThat(ab[0].completionTokens()).isEqualTo(1 + step);
        }

        world.schedule();
        assertThat(world.batch.stepCount()).as("two are left of seven").isEqualTo(2);
        world.settle(world.batch);
        assertThat(ab).allMatch(Sequence::isOver);
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
    }

    @Test
    void one_step_is_made_while_somebody_waits_or_computes_a_prompt() {
        var world = new SchedulerWorld(SchedulerSettings.of(8, 2, 4).withSteps(4), 20, 4, 32);
        world.submit(prompt(0, 4), prompt(1000, 12), prompt(2000, 4));
        for (int i = 0; i < 5; i++) {
            world.step();
            assertThat(world.batch.stepCount()).isEqualTo(1);
        }
    }

    @Test
    void one_step_is_made_if_the_blocks_for_more_are_not_free_and_nobody_gives_way_for_them() {
        var world = new SchedulerWorld(FOUR_STEPS, 5, 4, 16);
        world.submit(/* maxTokens */ 6, prompt(0, 6), prompt(1000, 6));
        world.step();

        world.step();
        assertThat(world.batch.stepCount()).as("7 tokens in 2 blocks; 10 would need 3").isEqualTo(1);
        assertThat(world.scheduler.recomputePreemptions() + world.scheduler.swapPreemptions()).isZero();
    }

    @Test
    @DisplayName("K39: 10, 42, 12 drawn with stop id 42 keeps 10, 42")
    void tokens_that_are_drawn_after_a_stop_are_dropped_and_the_blocks_return_with_the_last_step() {
        var world = new SchedulerWorld(ROOMY.withSteps(3), 20, 4, 32);
        var stop = new StopConditions(10, new int[] {42}, false);
        Sequence one = world.submit(request("one", 4, prompt(0, 5), stop, Sequence.NO_DEADLINE));
        world.step();
        world.schedule();
        ScheduledBatch batch = world.batch;
        world.settleStep(batch, 10);
        assertThat(one.isOver()).isFalse();
        world.settleStep(batch, 42);
        assertThat(one.state()).isEqualTo(new Finished(FinishReason.STOP, /* stopTokenId */ 42));
        assertThat(world.cache.freeBlocks()).isEqualTo(17);
        world.settleStep(batch, 12);
        assertThat(batch.tookToken(0)).isFalse();

        assertThat(Arrays.copyOf(one.tokens().tokens(), one.tokens().tokenCount()))
                .containsExactly(0, 1, 2, 3, 4, ANY_TOKEN, 10, 42);
        assertThat(one.completionTokens()).isEqualTo(3);
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
    }

    @Test
    void nobody_is_admitted_while_a_running_one_lacks_blocks_and_waits_for_steps_in_flight() {
        var settings = ASYNC.withLongPrefillThreshold(8).withReserveWholeSequence(false);
        var world = new SchedulerWorld(settings, 6, 4, 20);
        world.submit(request("a", 4, prompt(0, 4), 10));
        world.submit(request("b", 4, prompt(1000, 16), 1));
        assertThat(world.schedule()).as("1 and 2 of 5 blocks").containsExactly(4, 8);
        Sequence small = world.submit(request("small", 4, prompt(2000, 2), 1));

        assertThat(world.schedule()).as("a takes one, b wants two and finds one").containsExactly(1);
        assertThat(world.cache.freeBlocks()).isEqualTo(1);
        assertThat(small.state()).as("it would fit").isEqualTo(Alive.WAITING);
    }

    @Test
    void a_batch_that_has_settled_is_forgotten_with_the_next_decision_wherever_its_object_stands() {
        var world = new SchedulerWorld(ASYNC, 20, 4, 32);
        world.submit(/* maxTokens */ 2, prompt(0, 5));
        world.schedule();
        ScheduledBatch first = world.batch;
        world.schedule();
        ScheduledBatch second = world.batch;
        world.settle(first);
        world.settle(second);
        assertThat(second.size()).as("may still be read").isEqualTo(1);

        assertThat(world.schedule()).isEmpty();
        assertThat(first.size()).isZero();
        assertThat(second.size()).isZero();
    }

    @Test
    void blocks_that_later_steps_filled_are_keyed_when_their_tokens_are_known() {
        var world = new SchedulerWorld(FOUR_STEPS, KvCacheSettings.of(20, 4), 32);
        Sequence one = world.submit(/* maxTokens */ 5, prompt(0, 4))[0];
        world.step();
        world.cache.drainChanges();
        assertThat(world.cache.announcedCount()).isEqualTo(1);

        world.step();
        assertThat(one.isOver()).isTrue();
        world.cache.drainChanges();
        assertThat(world.cache.announcedCount()).as("8 of 9 tokens were computed").isEqualTo(2);
    }

    @Test
    void a_later_step_that_fails_takes_the_whole_batch_along() {
        var world = new SchedulerWorld(FOUR_STEPS, 20, 4, 32);
        Sequence one = world.submit(prompt(0, 3))[0];
        world.step();
        world.schedule();
        world.settleStep(world.batch, ANY_TOKEN);

        assertThat(world.scheduler.fail("device lost")).containsExactly(one);
        assertThat(one.completionTokens()).as("what was told stays told").isEqualTo(2);
        world.cache.drainChanges();
        assertThat(world.cache.announcedCount()).isZero();
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
    }

    @Test
    void four_steps_and_work_ahead_go_together() {
        var world = new SchedulerWorld(FOUR_STEPS.withAsyncScheduling(true), 20, 4, 40);
        Sequence one = world.submit(/* maxTokens */ 10, prompt(0, 4))[0];
        world.schedule();
        ScheduledBatch first = world.batch;
        assertThat(world.schedule()).containsExactly(1);
        ScheduledBatch second = world.batch;
        assertThat(second.stepCount()).isEqualTo(4);
        world.settle(first);
        assertThat(world.schedule()).containsExactly(1);
        ScheduledBatch third = world.batch;
        assertThat(third.stepCount()).isEqualTo(4);
        assertThat(third.firstPosition(0)).isEqualTo(8);
        assertThat(third.feedIndex(0, 0)).isZero();
        world.settle(second);
        world.schedule();
        assertThat(world.batch.stepCount()).as("1 + 4 + 4 of 10 are drawn or will be").isEqualTo(1);
        world.settle(third);
        world.settle(world.batch);

        assertThat(one.state()).isEqualTo(Finished.of(FinishReason.LENGTH));
        assertThat(one.completionTokens()).isEqualTo(10);
        assertThat(table(one)).isEmpty();
        assertThat(world.scheduler.isIdle()).isTrue();
    }

    private static BlockHashChain chain(int[] tokens) {
        var chain = new BlockHashChain(HashSettings.ofBlockSize(4), ExtraKeys.NONE);
        chain.extend(tokens, tokens.length);
        return chain;
    }
}
