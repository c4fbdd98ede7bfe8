package dev.warmpath.worker.engine;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EngineLoopTest {

    private static final SplittableRandom RANDOM = new SplittableRandom(7);

    @Test
    void twelve_golden_prompts_in_a_pool_that_forces_preemption_still_give_torchs_tokens() {
        Golden golden = Golden.read();
        // the longest prompt needs 128 blocks; all twelve together do not fit into 160
        var settings = SchedulerSettings.of(/* maxBatchedTokens */ 300, 12, 12).withReserveWholeSequence(false);
        try (var rig = new EngineRig(KvCacheSettings.of(/* blockCount */ 161, 16), settings)) {
            List<Recording> recordings = new ArrayList<>();
            for (Golden.Prompt prompt : golden.prompts()) {
                recordings.add(rig.submit(greedy(prompt.name(), prompt.tokens(), prompt.greedy().length)));
            }
            rig.runToEnd();

            assertThat(rig.loop.snapshot().work().preemptions()).isPositive();
            for (int i = 0; i < recordings.size(); i++) {
                assertThat(recordings.get(i).tokens()).as(golden.prompts().get(i).name())
                        .isEqualTo(golden.prompts().get(i).greedy());
                assertThat(recordings.get(i).finished).isEqualTo(FinishReason.LENGTH);
            }
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
            assertThat(rig.announced.size()).isEqualTo(rig.cache.announcedCount());
            assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
        }
    }

    @Test
    void an_exact_repeat_is_cached_up_to_the_block_before_its_last_token() {
        try (var rig = new EngineRig(64, 256, 4)) {
            int[] prompt = tokens(100);
            Recording first = rig.submit(greedy("first", prompt, 5));
            rig.runToEnd();
            Recording again = rig.submit(greedy("again", prompt.clone(), 5));
            rig.runToEnd();

            assertThat(first.usage).isEqualTo(new Usage(100, 0, 5));
            assertThat(again.usage).isEqualTo(new Usage(100, 96, 5));
            assertThat(again.tokens()).isEqualTo(first.tokens());
        }
    }

    @Test
    void two_equal_prompts_of_one_step_share_the_blocks_that_the_step_fills() {
        try (var rig = new EngineRig(64, 512, 4)) {
            int[] prompt = tokens(100);
            Recording one = rig.submit(greedy("one", prompt, 3));
            Recording two = rig.submit(greedy("two", prompt.clone(), 3));
            rig.loop.step();

            assertThat(rig.loop.snapshot().pool().usedBlocks()).isEqualTo(7 + 1);
            rig.runToEnd();
            assertThat(two.usage).isEqualTo(new Usage(100, 96, 3));
            assertThat(two.tokens()).isEqualTo(one.tokens());
        }
    }

    @Test
    void another_salt_finds_nothing() {
        try (var rig = new EngineRig(64, 512, 4)) {
            int[] prompt = tokens(50);
            rig.submit(salted(prompt, "s:one"));
            rig.runToEnd();
            Recording stranger = rig.submit(salted(prompt.clone(), "s:two"));
            rig.runToEnd();

            assertThat(stranger.usage).isEqualTo(new Usage(50, 0, 1));
        }
    }

    @Test
    void a_cancelled_generation_gives_its_blocks_back_within_a_step_and_is_not_told() {
        try (var rig = new EngineRig(64, 512, 4)) {
            var listener = new Recording();
            Generation generation = rig.engine.submit(greedy("gone", tokens(40), 500), listener);
            rig.loop.step();
            rig.loop.step();
            assertThat(listener.tokenCount()).isEqualTo(2);

            rig.engine.cancel(generation);
            rig.engine.cancel(generation);
            rig.loop.step();

            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
            assertThat(rig.loop.hasWork()).isFalse();
            assertThat(listener.isOver()).isFalse();
            assertThat(listener.tokenCount()).isEqualTo(2);
        }
    }

    @Test
    void a_stopped_generation_gives_its_blocks_back_and_tells_what_it_had_drawn() {
        try (var rig = new EngineRig(64, 512, 4)) {
            var listener = new Recording();
            Generation generation = rig.engine.submit(greedy("enough", tokens(40), 500), listener);
            rig.loop.step();
            rig.loop.step();

            rig.engine.stop(generation);
            rig.engine.stop(generation);
            rig.engine.cancel(generation);
            rig.loop.step();

            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
            assertThat(rig.loop.hasWork()).isFalse();
            assertThat(listener.finished).isEqualTo(FinishReason.STOP);
            assertThat(listener.usage).isEqualTo(new Usage(40, 0, 2));
            assertThat(listener.tokenCount()).isEqualTo(2);
        }
    }

    @Test
    void a_cancel_that_arrives_with_its_submission_is_not_lost() {
        try (var rig = new EngineRig(64, 512, /* maxSequences */ 1, /* maxWaiting */ 1)) {
            for (int i = 0; i < 3; i++) {
                Generation generation = rig.engine.submit(greedy("brief", tokens(40), 500), new Recording());
                rig.engine.cancel(generation);
                rig.loop.step();
                assertThat(rig.loop.hasWork()).isFalse();
            }
        }
    }

    @Test
    void a_failed_step_fails_its_requests_and_announces_none_of_its_keys() {
        try (var rig = new EngineRig(64, 512, 4)) {
            int[] prompt = tokens(100);
            rig.failingSteps = 1;
            Recording unlucky = rig.submit(greedy("unlucky", prompt, 3));
            rig.runToEnd();

            assertThat(unlucky.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
            assertThat(unlucky.message).contains("injected");
            assertThat(rig.announced.size()).isZero();
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();

            Recording next = rig.submit(greedy("next", prompt.clone(), 3));
            rig.runToEnd();
            assertThat(next.usage).isEqualTo(new Usage(100, 0, 3));
        }
    }

    @Test
    void a_deadline_that_passes_ends_the_answer_with_its_reason() {
        try (var rig = new EngineRig(64, 512, 4)) {
            Recording late = rig.submit(new GenerateRequest("late", 0, tokens(20), SamplingParameters.GREEDY,
                    pastTheEnd(100), false, null, null, null, 0, /* timeoutMillis */ 5));
            rig.loop.step();
            rig.nowNanos += 5_000_000;
            rig.loop.step();

            assertThat(late.tokenCount()).isEqualTo(1);
            assertThat(late.failed).isEqualTo(FailureReason.DEADLINE_EXCEEDED);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        }
    }

    @Test
    void a_deadline_that_passes_while_it_is_held_ends_who_runs_and_who_waits_without_a_step() {
        try (var rig = new EngineRig(64, 512, /* maxSequences */ 1)) {
            Recording runs = rig.submit(new GenerateRequest("runs", 0, tokens(20), SamplingParameters.GREEDY,
                    pastTheEnd(100), false, null, null, null, 0, /* timeoutMillis */ 5));
            Recording waits = rig.submit(new GenerateRequest("waits", 0, tokens(20), SamplingParameters.GREEDY,
                    pastTheEnd(100), false, null, null, null, 0, /* timeoutMillis */ 9));
            rig.loop.step();
            rig.nowNanos += 5_000_000;
            rig.loop.rest();

            assertThat(runs.tokenCount()).isEqualTo(1);
            assertThat(runs.failed).isEqualTo(FailureReason.DEADLINE_EXCEEDED);
            assertThat(waits.failed).isNull();
            rig.nowNanos += 4_000_000;
            rig.loop.rest();
            assertThat(waits.failed).isEqualTo(FailureReason.DEADLINE_EXCEEDED);
            assertThat(rig.awaits).isEqualTo(1);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        }
    }

    @Test
    void one_more_than_may_be_alive_is_refused_until_one_is_over() {
        try (var rig = new EngineRig(64, 512, /* maxSequences */ 2, /* maxWaiting */ 1)) {
            for (int i = 0; i < 3; i++) {
                rig.submit(greedy("r" + i, tokens(20), 2));
            }
            assertThatThrownBy(() -> rig.submit(greedy("r3", tokens(20), 2)))
                    .isInstanceOfSatisfying(RefusedException.class,
                            refused -> assertThat(refused.reason()).isEqualTo(FailureReason.QUEUE_FULL))
                    .hasMessage("3 requests are running or waiting here, no more are taken");

            rig.runToEnd();
            assertThat(rig.submit(greedy("r3", tokens(20), 2)).isOver()).isFalse();
        }
    }

    @Test
    void what_is_not_served_or_cannot_be_is_refused_before_it_is_queued() {
        try (var rig = new EngineRig(16, 512, 4)) {
            assertRefused(rig, new GenerateRequest("r", 78, tokens(5), SamplingParameters.GREEDY,
                            StopConditions.maxTokens(1), false, null, null, null, 0, 0),
                    FailureReason.WRONG_EPOCH, "the request is for epoch 78, this worker lives in 77");
            assertRefused(rig, new GenerateRequest("r", 77, tokens(5), SamplingParameters.GREEDY,
                            StopConditions.maxTokens(1), false, null, "poet", null, 0, 0),
                    FailureReason.UNSUPPORTED, "adapter 'poet' is not served yet");
            assertRefused(rig, new GenerateRequest("r", 0, tokens(5), SamplingParameters.GREEDY,
                            StopConditions.maxTokens(1), false, null, null, null, -1, 0),
                    FailureReason.UNSUPPORTED,
                    "priority '-1' is not served: this worker serves requests in order of arrival");
            assertRefused(rig, greedy("r", new int[] {1, 2, 60_000}, 1),
                    FailureReason.INVALID_REQUEST, "token id 60000 at position 2 is outside the vocabulary of 2048");
            assertRefused(rig, greedy("r", tokens(2048), 1), FailureReason.INVALID_REQUEST, "prompt has 2048 tokens");
            assertRefused(rig, greedy("r", tokens(300), 1), FailureReason.INVALID_REQUEST, "this worker has 15");
        }
    }

    @Test
    void a_seed_draws_the_same_tokens_again_also_from_the_cache_and_in_a_crowd() {
        try (var rig = new EngineRig(256, 512, 8)) {
            int[] prompt = tokens(64);
            var sampling = new SamplingParameters(1.2f, 50, 0.95f, 4711);
            Recording alone = rig.submit(drawn(prompt, sampling));
            rig.runToEnd();
            List<Recording> crowd = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                crowd.add(rig.submit(drawn(tokens(30 + 40 * i), new SamplingParameters(1f, 0, 1f, i))));
            }
            Recording again = rig.submit(drawn(prompt.clone(), sampling));
            rig.runToEnd();

            assertThat(again.tokens()).isEqualTo(alone.tokens()).hasSize(30);
            assertThat(again.usage).isEqualTo(new Usage(64, 48, 30));
            Recording otherSeed = rig.submit(drawn(prompt.clone(), new SamplingParameters(1.2f, 50, 0.95f, 4712)));
            rig.runToEnd();
            assertThat(otherSeed.tokens()).isNotEqualTo(alone.tokens());
        }
    }

    @Test
    void log_probabilities_come_when_they_are_asked_for() {
        try (var rig = new EngineRig(64, 512, 4)) {
            Recording with = rig.submit(new GenerateRequest("with", 0, tokens(10), SamplingParameters.GREEDY,
                    StopConditions.maxTokens(1), true, null, null, null, 0, 0));
            rig.runToEnd();

            assertThat(with.lastLogprob).isBetween(-8f, -1e-9f);
        }
    }

    @Test
    void forgetting_the_prefixes_is_announced_at_once_even_by_an_idle_worker() {
        try (var rig = new EngineRig(64, 512, 4)) {
            rig.submit(greedy("r", tokens(64), 1));
            rig.runToEnd();
            assertThat(rig.announced.size()).isEqualTo(4);

            var done = rig.engine.resetPrefixCache();
            rig.loop.step();

            assertThat(done).isCompletedWithValue(true);
            assertThat(rig.announced.size()).isZero();
        }
    }

    @Test
    void under_load_the_prefixes_that_nobody_holds_are_forgotten_and_the_announced_set_stays_exact() {
        try (var rig = new EngineRig(64, 512, 4)) {
            rig.submit(greedy("ended", tokens(64), 1));
            rig.runToEnd();
            rig.engine.submit(greedy("alive", tokens(32), 500), new Recording());
            rig.loop.step();
            assertThat(rig.announced.size()).as("four of the one, two of the other").isEqualTo(6);

            var done = rig.engine.resetPrefixCache();
            rig.loop.step();

            assertThat(done).isCompletedWithValue(false);
            assertThat(rig.announced.size()).isEqualTo(2);
        }
    }

    @Test
    void cancelling_and_resetting_again_and_again_adds_one_command_each() {
        try (var rig = new EngineRig(64, 512, 4)) {
            Generation generation = rig.engine.submit(greedy("r", tokens(40), 500), new Recording());
            rig.loop.step();
            for (int i = 0; i < 1_000; i++) {
                rig.engine.cancel(generation);
            }
            assertThat(rig.loop.commands().size()).isEqualTo(1);
            var first = rig.engine.resetPrefixCache();
            var second = rig.engine.resetPrefixCache();
            assertThat(rig.loop.commands().size()).isEqualTo(2);

            rig.loop.step();
            assertThat(first).isCompletedWithValue(true);
            assertThat(second).isCompletedWithValue(true);
            rig.engine.cancel(generation);
            assertThat(rig.loop.hasWork()).as("it is over").isFalse();
            assertThat(rig.engine.resetPrefixCache()).as("a new one").isNotDone();
        }
    }

    @Test
    void a_reset_is_announced_before_what_is_admitted_in_the_same_turn_is_done() {
        var settings = SchedulerSettings.of(512, 4, 4).withAsyncScheduling(true);
        try (var rig = new EngineRig(KvCacheSettings.of(64, 16), settings)) {
            rig.submit(greedy("r", tokens(64), 1));
            rig.runToEnd();
            assertThat(rig.announced.size()).isEqualTo(4);

            rig.engine.resetPrefixCache();
            rig.submit(greedy("next", tokens(64), 1));
            rig.loop.step();

            assertThat(rig.awaits).as("the next one's step is in flight").isEqualTo(1);
            assertThat(rig.announced.size()).isZero();
        }
    }

    @Test
    void keys_of_a_step_in_flight_are_not_announced_with_the_step_before_and_never_if_theirs_fails() {
        var settings = SchedulerSettings.of(512, 4, 4).withAsyncScheduling(true);
        try (var rig = new EngineRig(KvCacheSettings.of(64, 16), settings)) {
            rig.submit(greedy("first", tokens(40), 9));
            rig.loop.step();
            rig.submit(greedy("second", tokens(70), 9));
            rig.loop.step();
            assertThat(rig.scheduler.batchesInFlight()).isEqualTo(1);
            assertThat(rig.announced.size()).as("2 of the first, none of the second's 4").isEqualTo(2);

            rig.failingSteps = 1;
            rig.loop.step();
            assertThat(rig.announced.size()).isEqualTo(2);
            rig.runToEnd();
            assertThat(rig.announced.size()).isEqualTo(2);
            assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
        }
    }

    @Test
    void a_cache_with_groups_that_the_runner_does_not_compute_is_refused() {
        var window = new CacheGroup.SlidingWindow(8);
        assertThatThrownBy(() -> new EngineRig(
                        KvCacheSettings.of(64, 16).withGroups(List.of(new CacheGroup.FullAttention(), window)),
                        SchedulerSettings.of(512, 4, 4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("SlidingWindow[window=8, blockSize=0]").hasMessageContaining("layers want [FullAttention[]]");
        assertThatThrownBy(() -> new EngineRig(
                        KvCacheSettings.of(64, 16).withGroups(List.of(window)), SchedulerSettings.of(512, 4, 4)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static void assertRefused(EngineRig rig, GenerateRequest request, FailureReason reason, String message) {
        assertThatThrownBy(() -> rig.submit(request))
                .isInstanceOfSatisfying(RefusedException.class,
                        refused -> assertThat(refused.reason()).isEqualTo(reason))
                .hasMessageContaining(message);
        assertThat(rig.loop.hasWork()).isFalse();
    }

    private static GenerateRequest greedy(String id, int[] prompt, int maxTokens) {
        return GenerateRequest.of(id, prompt, SamplingParameters.GREEDY, pastTheEnd(maxTokens));
    }

    private static GenerateRequest drawn(int[] prompt, SamplingParameters sampling) {
        return GenerateRequest.of("drawn", prompt, sampling, pastTheEnd(30));
    }

    private static GenerateRequest salted(int[] prompt, String salt) {
        return new GenerateRequest("salted", 0, prompt, SamplingParameters.GREEDY, pastTheEnd(1), false, salt, null,
                null, 0, 0);
    }

    private static int[] tokens(int count) {
        int[] tokens = new int[count];
        Arrays.setAll(tokens, _ -> RANDOM.nextInt(2_000));
        return tokens;
    }
}
