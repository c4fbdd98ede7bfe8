package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.EOS;
import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static dev.warmpath.worker.scheduler.SchedulerWorld.ANY_TOKEN;
import static dev.warmpath.worker.scheduler.SchedulerWorld.VOCABULARY;
import static dev.warmpath.worker.scheduler.SchedulerWorld.table;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PrefixCacheStats;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import dev.warmpath.worker.scheduler.SequenceState.Cancelled;
import dev.warmpath.worker.scheduler.SequenceState.Failed;
import dev.warmpath.worker.scheduler.SequenceState.Finished;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The figures of every numbered scenario were produced by vLLM's own code, or follow from them by hand. */
class SchedulerTest {

    private static final Finished STOP = new Finished(FinishReason.STOP, Finished.NO_STOP_TOKEN);
    private static final Finished LENGTH = new Finished(FinishReason.LENGTH, Finished.NO_STOP_TOKEN);
    private static final SchedulerSettings ROOMY = SchedulerSettings.of(2048, 64, 512);

    @Test
    @DisplayName("K32: budget 1024, long-prefill threshold 400")
    void long_prompts_are_cut_at_the_threshold_and_at_the_budget() {
        var world = new SchedulerWorld(SchedulerSettings.of(1024, 64, 8).withLongPrefillThreshold(400), 400, 16, 1024);
        world.submit(prompt(0, 800), prompt(1000, 800), prompt(2000, 800));

        assertThat(world.step()).containsExactly(400, 400, 224);
        assertThat(world.step()).containsExactly(400, 400, 224);
        assertThat(world.step()).containsExactly(1, 1, 352);
    }

    @Test
    @DisplayName("K32: chunked prefill fills the budget")
    void the_prompt_that_exceeds_the_budget_is_computed_in_part() {
        var world = new SchedulerWorld(SchedulerSettings.of(1024, 3, 8), 400, 16, 1024);
        world.submit(prompt(0, 800), prompt(1000, 800), prompt(2000, 10), prompt(3000, 10));

        assertThat(world.step()).containsExactly(800, 224);
        assertThat(world.step()).as("the third is the last that may run").containsExactly(1, 576, 10);
    }

    @Test
    @DisplayName("K32: chunked prefill off")
    void without_chunks_a_prompt_that_does_not_fit_waits_and_nobody_overtakes_it() {
        var world = new SchedulerWorld(SchedulerSettings.of(1024, 3, 8).withChunkedPrefill(false), 400, 16, 1024);
        world.submit(prompt(0, 800), prompt(1000, 800), prompt(2000, 10), prompt(3000, 10));

        assertThat(world.step()).containsExactly(800);
        assertThat(world.step()).containsExactly(1, 800, 10);
    }

    @Test
    void even_what_would_fit_is_not_admitted_in_a_step_that_preempted() {
        var settings = SchedulerSettings.of(64, 4, 8).withLongPrefillThreshold(8).withReserveWholeSequence(false);
        var world = new SchedulerWorld(settings, KvCacheSettings.of(6, 4).withPrefixCaching(false), 20);
        Sequence[] ab = world.submit(prompt(0, 8), prompt(1000, 12));
        assertThat(world.step()).containsExactly(8, 8);

        assertThat(world.step()).as("a takes the last block, b gives up its two").containsExactly(1);
        assertThat(world.cache.freeBlocks()).isEqualTo(2);
        assertThat(world.step()).as("8 tokens of b fit into them").containsExactly(1, 8);
        assertThat(ab[1].state()).isEqualTo(Alive.RUNNING);
    }

    @Test
    void a_batch_says_where_each_entry_starts_and_which_entries_draw_a_token() {
        var world = new SchedulerWorld(SchedulerSettings.of(12, 4, 8), 20, 4, 64);
        Sequence[] ab = world.submit(prompt(0, 5), prompt(1000, 10));

        ScheduledBatch batch = world.scheduler.schedule(0);

        assertThat(batch.size()).isEqualTo(2);
        assertThat(batch.totalTokens()).isEqualTo(12);
        assertThat(batch.sequence(1)).isSameAs(ab[1]);
        assertThat(batch.firstPosition(1)).isZero();
        assertThat(batch.tokenCount(1)).isEqualTo(7);
        assertThat(batch.samples(0)).isTrue();
        assertThat(batch.samples(1)).isFalse();
        assertThat(batch.sampleIndex(1, 0)).isEqualTo(ScheduledBatch.NO_SAMPLE);
        assertThat(batch.sampleCount(0)).isEqualTo(1);
        assertThat(batch.row(1, 0)).as("its chunk is checked all the same").isEqualTo(1);
        world.scheduler.settle(batch, new int[] {ANY_TOKEN, 0});

        batch = world.scheduler.schedule(0);
        assertThat(batch.firstPosition(0)).isEqualTo(5);
        assertThat(batch.firstPosition(1)).isEqualTo(7);
        assertThat(batch.tokenCount(1)).isEqualTo(3);
        assertThat(batch.sampleIndex(1, 0)).isEqualTo(1);
        assertThat(batch.sampleCount(0)).isEqualTo(2);
    }

    @Test
    void a_second_prompt_shares_what_the_first_fills_in_the_same_step() {
        var world = new SchedulerWorld(ROOMY, 20, 4, 64);
        Sequence[] ab = world.submit(prompt(0, 10), prompt(0, 11));

        assertThat(world.step()).containsExactly(10, 3);
        assertThat(table(ab[0])).containsExactly(1, 2, 3);
        assertThat(table(ab[1])).containsExactly(1, 2, 4);
        assertThat(ab[1].tokens().cachedTokens()).isEqualTo(8);
    }

    @Test
    @DisplayName("K39: end of sequence")
    void an_eos_token_stops_unless_it_is_ignored() {
        assertThat(end(prompt(10, 4), new StopConditions(9, new int[0], false), 32, EOS)).isEqualTo(STOP);
        assertThat(end(prompt(10, 4), StopConditions.pastTheEnd(3), 32, EOS, EOS, EOS)).isEqualTo(LENGTH);
    }

    @Test
    @DisplayName("K39: stop id 42")
    void a_stop_token_stops_is_named_and_counts_even_where_eos_is_ignored_and_before_the_length_does() {
        var stoppedBy42 = new Finished(FinishReason.STOP, /* stopTokenId */ 42);
        assertThat(end(prompt(10, 4), new StopConditions(9, new int[] {42}, false), 32, 42)).isEqualTo(stoppedBy42);
        assertThat(end(prompt(10, 4), new StopConditions(9, new int[] {41, 42}, true), 32, EOS, 42))
                .isEqualTo(stoppedBy42);
        assertThat(end(prompt(10, 4), new StopConditions(1, new int[] {42}, false), 32, 42)).isEqualTo(stoppedBy42);
    }

    @Test
    @DisplayName("K39: max_tokens 1")
    void the_token_limit_ends_by_length() {
        assertThat(end(prompt(10, 4), StopConditions.maxTokens(1), 32, ANY_TOKEN)).isEqualTo(LENGTH);
    }

    @Test
    @DisplayName("K39: max length 8, prompt 6")
    void the_context_limit_ends_by_length_at_the_second_token() {
        assertThat(end(prompt(10, 6), StopConditions.maxTokens(99), 8, ANY_TOKEN, ANY_TOKEN)).isEqualTo(LENGTH);
    }

    @Test
    @DisplayName("K39: end of sequence with min_tokens 3")
    void before_the_least_number_of_tokens_only_the_length_ends() {
        var eosOnly = new StopConditions(9, new int[0], false).withMinTokens(3);
        assertThat(end(prompt(10, 4), eosOnly, 32, EOS, EOS, EOS)).isEqualTo(STOP);
        var stop = new StopConditions(9, new int[] {42}, false).withMinTokens(3);
        assertThat(end(prompt(10, 4), stop, 32, EOS, 42, EOS)).isEqualTo(STOP);
        assertThat(end(prompt(10, 4), stop, 32, EOS, EOS, 42)).isEqualTo(new Finished(FinishReason.STOP, 42));
    }

    @Test
    @DisplayName("K39: min tokens beyond the cap")
    void a_least_number_of_tokens_beyond_the_context_does_not_keep_a_sequence_running() {
        var stop = new StopConditions(9, new int[0], false).withMinTokens(9);
        assertThat(end(prompt(10, 6), stop, 8, EOS, EOS)).isEqualTo(LENGTH);
    }

    @Test
    void two_requests_of_one_id_are_two_requests() {
        var world = new SchedulerWorld(ROOMY, 10, 4, 32);
        Sequence[] twins = {world.submit(prompt(0, 3))[0], world.submit(prompt(0, 3))[0]};
        assertThat(twins[0].requestId()).isEqualTo(twins[1].requestId());

        world.step();
        assertThat(world.scheduler.cancel(twins[0])).isTrue();
        assertThat(twins[1].state()).isEqualTo(Alive.RUNNING);
        assertThat(world.step()).containsExactly(1);
    }

    @Test
    void a_sequence_is_submitted_once_and_a_stranger_is_not_cancelled() {
        var world = new SchedulerWorld(ROOMY, 10, 4, 32);
        Sequence one = world.submit(prompt(0, 3))[0];

        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.submit(one, 0))
                .withMessageContaining("was submitted before");
        assertThatIllegalStateException().isThrownBy(() -> one.follower(one.sampling()));
        assertThat(world.scheduler.cancel(request("stranger", 4, prompt(0, 3), 1))).isFalse();
        assertThat(world.scheduler.cancel(one)).isTrue();
        assertThat(world.scheduler.cancel(one)).isFalse();
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.submit(one, 0));
        assertThat(world.scheduler.isIdle()).isTrue();
    }

    @Test
    void a_finished_sequence_has_given_its_blocks_back_and_its_last_token_is_not_cached() {
        var world = new SchedulerWorld(ROOMY, 10, 4, 32);
        Sequence[] one = world.submit(/* maxTokens */ 2, prompt(0, 6));
        world.step();
        world.step();

        assertThat(one[0].state()).isEqualTo(Finished.of(FinishReason.LENGTH));
        assertThat(one[0].completionTokens()).isEqualTo(2);
        assertThat(world.cache.freeBlocks()).isEqualTo(9);
        assertThat(world.cache.announcedCount()).isZero();
        world.cache.drainChanges();
        assertThat(world.cache.announcedCount()).as("8 tokens are known, 7 were computed").isEqualTo(1);
        assertThat(world.scheduler.isIdle()).isTrue();
    }

    @Test
    void what_can_never_be_computed_is_refused_with_both_numbers() {
        var world = new SchedulerWorld(ROOMY, 6, 16, 100);

        assertThat(world.scheduler.submit(request("a", 16, prompt(0, 100), 1), 0)).isEqualTo(refused(
                "prompt has 100 tokens, the model's context of 100 takes 99 beside one generated token"));
        assertThat(world.limits.check(request("b", 16, new int[] {1, VOCABULARY}, 1))).isEqualTo(refused(
                "token id 10000 at position 1 is outside the vocabulary of 10000"));
        assertThat(world.limits.check(request("c", 16, new int[] {-1}, 1))).isEqualTo(refused(
                "token id -1 at position 0 is outside the vocabulary of 10000"));
        assertThat(world.scheduler.submit(request("d", 16, prompt(0, 70), 12), 0)).isEqualTo(refused(
                "prompt of 70 tokens with up to 12 generated ones needs 6 cache blocks of 16 tokens, "
                        + "this worker has 5"));
        assertThat(world.scheduler.isIdle()).isTrue();

        assertThat(world.scheduler.submit(request("e", 16, prompt(0, 70), 11), 0)).isEqualTo(new Submission.Accepted());
    }

    @Test
    void more_than_may_be_alive_is_an_error_of_the_submitter_who_counts_them() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 1, 2), 10, 4, 32);
        Sequence[] three = world.submit(prompt(0, 4), prompt(0, 4), prompt(0, 4));
        Sequence next = request("next", 4, prompt(0, 4), 1);

        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.submit(next, 0))
                .withMessage("0 sequences run and 3 wait, of 3 that may");
        world.scheduler.cancel(three[0]);
        assertThat(world.scheduler.submit(next, 0)).isEqualTo(new Submission.Accepted());
    }

    @Test
    void a_deadline_ends_running_and_waiting_sequences_alike() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 1, 8), 10, 4, 32);
        Sequence runs = request("runs", 4, prompt(0, 4), StopConditions.maxTokens(9), 1_000);
        Sequence waits = request("waits", 4, prompt(0, 4), StopConditions.maxTokens(9), 999);
        world.scheduler.submit(runs, 0);
        world.scheduler.submit(waits, 0);
        world.scheduler.settle(world.scheduler.schedule(998), new int[] {ANY_TOKEN});

        assertThat(world.scheduler.schedule(1_000).expired()).containsExactly(runs, waits);

        assertThat(runs.state()).isEqualTo(new Failed(
                FailureReason.DEADLINE_EXCEEDED, "the deadline passed after 1 of at most 9 tokens"));
        assertThat(waits.isOver()).isTrue();
        assertThat(world.cache.freeBlocks()).isEqualTo(9);
        assertThat(world.scheduler.isIdle()).isTrue();
        assertThat(world.scheduler.schedule(1_001).expired()).isEmpty();
    }

    @Test
    void a_deadline_may_lie_across_the_overflow_of_the_clock() {
        Sequence sequence = request("a", 4, prompt(0, 4), StopConditions.maxTokens(1), Long.MIN_VALUE + 10);

        assertThat(sequence.isExpired(Long.MAX_VALUE - 5)).isFalse();
        assertThat(sequence.isExpired(Long.MIN_VALUE + 10)).isTrue();
    }

    @Test
    void a_failed_step_ends_its_sequences_and_leaves_neither_keys_nor_blocks_behind() {
        var world = new SchedulerWorld(SchedulerSettings.of(10, 2, 8), 20, 4, 32);
        Sequence[] abc = world.submit(prompt(0, 8), prompt(1000, 8), prompt(2000, 4));
        world.step();
        world.cache.drainChanges();

        ScheduledBatch batch = world.scheduler.schedule(0);
        assertThat(world.scheduler.fail("device lost")).containsExactly(abc[0], abc[1]);

        assertThat(abc[0].state()).isEqualTo(new Failed(FailureReason.ENGINE_FAILURE, "device lost"));
        assertThat(abc[1].isOver()).isTrue();
        assertThat(abc[2].state()).isEqualTo(Alive.WAITING);
        assertThat(world.cache.drainChanges()).as("b's two blocks were keyed and withdrawn").isEmpty();
        assertThat(world.cache.announcedCount()).as("a's from the step before").isEqualTo(2);
        assertThat(world.cache.freeBlocks()).isEqualTo(19);
        world.scheduler.checkIntegrity();
        assertThat(world.step()).containsExactly(4);
    }

    @Test
    void cancelling_frees_the_blocks_at_once_wherever_the_sequence_stands() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 1, 8), 10, 4, 32);
        Sequence[] ab = world.submit(prompt(0, 8), prompt(1000, 8));
        world.step();

        assertThat(world.scheduler.cancel(ab[0])).isTrue();
        assertThat(world.scheduler.cancel(ab[1])).isTrue();
        assertThat(world.scheduler.cancel(ab[1])).as("once only").isFalse();

        assertThat(ab[0].state()).isEqualTo(new Cancelled());
        assertThat(world.cache.freeBlocks()).isEqualTo(9);
        assertThat(world.scheduler.isIdle()).isTrue();
        assertThat(world.scheduler.cancel(request("new", 4, prompt(0, 1), 1))).isFalse();
    }

    @Test
    void pending_prompt_tokens_are_those_of_running_and_waiting_prompts_not_yet_computed() {
        var world = new SchedulerWorld(SchedulerSettings.of(12, 1, 8), 20, 4, 64);
        world.submit(prompt(0, 20), prompt(1000, 7));
        assertThat(world.scheduler.load().pendingPromptTokens()).isEqualTo(27);

        world.step();
        assertThat(world.scheduler.load().pendingPromptTokens()).isEqualTo(15);
        world.step();
        world.step();
        assertThat(world.scheduler.load().pendingPromptTokens()).isEqualTo(7);
        assertThat(world.scheduler.runningCount()).isEqualTo(1);
        assertThat(world.scheduler.waitingCount()).isEqualTo(1);
    }

    /** Blocks of 4: of 20 tokens 16 are cached, for one at least is always computed; of the other prompt 8 of 11. */
    @Test
    void a_waiting_prompt_needs_only_what_it_did_not_find_cached_when_it_came() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 1, 8), 20, 4, 64);
        world.submit(prompt(0, 20));
        world.runToEnd();
        int[] begun = IntStream.concat(Arrays.stream(prompt(0, 8)), Arrays.stream(prompt(2000, 3))).toArray();
        world.submit(prompt(1000, 7), prompt(0, 20), begun);

        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(3, 7 + 4 + 3, List.of()));
        world.step();
        assertThat(world.scheduler.load()).as("the first has its first token").isEqualTo(
                new AliveLoad(2, 4 + 3, List.of()));
    }

    /** Three answers to one prompt of 20 tokens: the followers share it, but for its last token. */
    @Test
    void a_prompt_that_several_answers_share_is_needed_once() {
        var world = new SchedulerWorld(SchedulerSettings.of(12, 4, 8), 20, 4, 64);
        Sequence leader = request("leader", 4, prompt(0, 20), 4);
        world.submitAll(leader, leader.follower(SamplingParameters.GREEDY), leader.follower(SamplingParameters.GREEDY));

        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(3, 20 + 1 + 1, List.of()));
        world.step();
        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(3, 8 + 1 + 1, List.of()));
    }

    @Test
    void turns_out_of_order_are_errors() {
        var world = new SchedulerWorld(ROOMY, 10, 4, 32);
        Sequence[] one = world.submit(prompt(0, 4));
        ScheduledBatch batch = world.scheduler.schedule(0);

        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.schedule(0));
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.submit(one[0], 0));
        assertThatIllegalArgumentException().isThrownBy(() -> world.scheduler.settle(batch, new int[0]))
                .withMessage("0 rows drawn from, the batch has 1");
        world.scheduler.settle(batch, new int[] {ANY_TOKEN});
        assertThatIllegalStateException().isThrownBy(() -> world.scheduler.settle(batch, new int[] {ANY_TOKEN}));
    }

    @Test
    void settings_that_could_starve_somebody_are_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> SchedulerSettings.of(63, 64, 1))
                .withMessageContaining("63").withMessageContaining("64");
        assertThatIllegalArgumentException().isThrownBy(
                () -> SchedulerSettings.of(64, 64, 1).withChunkedPrefill(false).withLongPrefillThreshold(5));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SchedulerWorld(
                        SchedulerSettings.of(64, 4, 1).withChunkedPrefill(false), 100, 4, 65))
                .withMessageContaining("64").withMessageContaining("65");
        assertThatIllegalArgumentException().isThrownBy(() -> SchedulerSettings.of(64, 64, 1).withSteps(0))
                .withMessage("scheduler steps 0 is below 1");
        assertThatIllegalArgumentException().isThrownBy(() -> SchedulerSettings.of(64, 64, 1).withCacheAwareWindow(4)
                .withOvertakeLimitNanos(0)).withMessageContaining("overtake limit of 0 forbids it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SchedulerSettings.of(64, 64, 1).withOvertakeLimitNanos(-1));
        var async = ROOMY.withAsyncScheduling(true);
        assertThatIllegalArgumentException().isThrownBy(() -> new Scheduler(async,
                        new RequestLimits(VOCABULARY, 32, KvCacheSettings.of(10, 4), 2048),
                        new KvCacheManager(KvCacheSettings.of(10, 4))))
                .withMessage("limits count with 2048 tokens in flight, the settings allow 4096");
        var limits = new RequestLimits(VOCABULARY, 32, KvCacheSettings.of(11, 4), 2048);
        var cache = new KvCacheManager(KvCacheSettings.of(10, 4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Scheduler(ROOMY, limits, cache))
                .withMessage("limits promise 10 blocks of 4 tokens, the cache has 9 of 4");
    }

    private static Submission refused(String message) {
        return new Submission.Refused(FailureReason.INVALID_REQUEST, message);
    }

    /** Draws these tokens and tells how it ended; not before the last of them. */
    private static Finished end(int[] prompt, StopConditions stop, int contextLength, int... drawn) {
        var world = new SchedulerWorld(ROOMY, 20, 4, contextLength);
        Sequence sequence = request("a", 4, prompt, stop, Sequence.NO_DEADLINE);
        world.scheduler.submit(sequence, 0);
        for (int token : drawn) {
            assertThat(sequence.isOver()).isFalse();
            world.scheduler.settle(world.scheduler.schedule(0), new int[] {token});
        }
        if (sequence.state() instanceof Finished finished) {
            return finished;
        }
        throw new AssertionError(sequence + " goes on");
    }
}
