package dev.warmpath.worker.engine;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.SchedulingPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine with work ahead, several steps per decision, swap space, priorities, and several answers to a prompt. */
class EngineModesTest {

    private static final SplittableRandom RANDOM = new SplittableRandom(11);
    private static final KvCacheSettings CACHE = KvCacheSettings.of(128, 16);
    private static final SchedulerSettings ROOMY = SchedulerSettings.of(512, 8, 8);

    @ParameterizedTest(name = "async {0}, {1} steps, {2} blocks of swap space")
    @CsvSource({"true, 1, 0", "false, 4, 0", "true, 3, 0", "false, 1, 40", "true, 4, 200"})
    void every_mode_gives_torchs_tokens_in_a_pool_that_forces_preemption(boolean async, int steps, int hostBlocks) {
        Golden golden = Golden.read();
        var settings = SchedulerSettings.of(/* maxBatchedTokens */ 300, 12, 12).withReserveWholeSequence(false)
                .withAsyncScheduling(async).withSteps(steps);
        try (var rig = new EngineRig(KvCacheSettings.of(161, 16).withHostBlockCount(hostBlocks), settings)) {
            List<Recording> recordings = new ArrayList<>();
            for (Golden.Prompt prompt : golden.prompts()) {
                recordings.add(rig.submit(greedy(prompt.name(), prompt.tokens(), prompt.greedy().length)));
            }
            rig.runToEnd();

            for (int i = 0; i < recordings.size(); i++) {
                assertThat(recordings.get(i).tokens()).as(golden.prompts().get(i).name())
                        .isEqualTo(golden.prompts().get(i).greedy());
            }
            EngineSnapshot end = rig.loop.snapshot();
            assertThat(end.work().preemptions()).isPositive();
            assertThat(end.work().swapPreemptions() > 0).isEqualTo(hostBlocks > 0);
            assertThat(end.swap().inBlocks() > 0).isEqualTo(hostBlocks > 0);
            assertThat(end.swap().freeBlocks()).isEqualTo(hostBlocks);
            assertThat(end.pool().usedBlocks()).isZero();
            assertThat(end.pool().unusedSlots()).isZero();
            assertThat(rig.announced.size()).isEqualTo(rig.cache.announcedCount());
            assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
        }
    }

    @Test
    void three_answers_compute_their_prompt_once_and_equal_the_single_one() {
        try (var rig = new EngineRig(CACHE.withPrefixCaching(false), ROOMY)) {
            int[] prompt = tokens(100);
            Recording alone = rig.submit(greedy("alone", prompt, 6));
            rig.runToEnd();
            long before = rig.loop.snapshot().work().computedTokens();
            assertThat(before).isEqualTo(100 + 5);

            List<Recording> answers = List.of(new Recording(), new Recording(), new Recording());
            rig.engine.submit(greedy("three", prompt, 6), List.copyOf(answers));
            rig.runToEnd();

            assertThat(answers).allSatisfy(answer -> assertThat(answer.tokens()).isEqualTo(alone.tokens()));
            assertThat(rig.loop.snapshot().work().computedTokens() - before)
                    .as("the followers compute one prompt token each")
                    .isEqualTo(100 + 2 + 3 * 5);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        }
    }

    @Test
    void several_answers_are_drawn_with_seeds_of_their_own() {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(true).withSteps(2))) {
            int[] prompt = tokens(50);
            List<Recording> answers = List.of(new Recording(), new Recording());
            rig.engine.submit(drawn(prompt, 4711), List.copyOf(answers));
            rig.runToEnd();
            Recording second = rig.submit(drawn(prompt, 4712));
            rig.runToEnd();

            assertThat(answers.get(1).tokens()).isEqualTo(second.tokens()).isNotEqualTo(answers.get(0).tokens());
            assertThat(answers.get(0).usage).isEqualTo(new Usage(50, 0, 20));
        }
    }

    @Test
    void several_answers_are_taken_all_or_none() {
        try (var rig = new EngineRig(CACHE, SchedulerSettings.of(64, /* maxSequences */ 4, /* maxWaiting */ 2))) {
            List<Recording> first = recordings(3);
            List<Recording> second = recordings(3);
            assertThatThrownBy(() -> rig.engine.submit(greedy("seven", tokens(10), 2), List.copyOf(recordings(7))))
                    .isInstanceOfSatisfying(RefusedException.class, never -> assertThat(never.reason())
                            .as("nobody else is here").isEqualTo(FailureReason.INVALID_REQUEST))
                    .hasMessage("7 choices are asked for, this worker takes 6 at a time");
            assertThat(rig.loop.hasWork()).isFalse();

            rig.engine.submit(greedy("three", tokens(10), 2), List.copyOf(first));
            assertThatThrownBy(() -> rig.engine.submit(greedy("four", tokens(10), 2), List.copyOf(recordings(4))))
                    .isInstanceOfSatisfying(RefusedException.class, full -> assertThat(full.reason())
                            .isEqualTo(FailureReason.QUEUE_FULL))
                    .hasMessage("3 requests are running or waiting here, of 6 that may: there is no room for 4 more");
            rig.engine.submit(greedy("three", tokens(10), 2), List.copyOf(second));
            assertThatThrownBy(() -> rig.submit(greedy("one", tokens(10), 2))).isInstanceOf(RefusedException.class);
            rig.runToEnd();
            assertThat(first).allMatch(answer -> answer.finished == FinishReason.LENGTH);
            assertThat(second).allMatch(answer -> answer.finished == FinishReason.LENGTH);
        }
    }

    @ParameterizedTest(name = "async {0}")
    @ValueSource(booleans = {false, true})
    void as_many_choices_as_may_be_of_one_token_are_drawn_though_their_leader_ends_with_its_first(boolean async) {
        int[] prompt = tokens(40);
        var settings = SchedulerSettings.of(128, /* maxSequences */ 8, /* maxWaiting */ 120).withAsyncScheduling(async);
        try (var rig = new EngineRig(CACHE, settings)) {
            List<Recording> answers = recordings(128);
            rig.engine.submit(drawn(prompt, 0, 1), List.copyOf(answers));
            rig.runToEnd();
            long computed = rig.loop.snapshot().work().computedTokens();

            assertThat(answers).allSatisfy(answer -> assertThat(answer.usage).isEqualTo(new Usage(40, 0, 1)));
            for (int choice : new int[] {0, 1, 64, 127}) {
                Recording alone = rig.submit(drawn(prompt, choice, 1));
                rig.runToEnd();
                assertThat(alone.tokens()).as("choice " + choice).isEqualTo(answers.get(choice).tokens());
                assertThat(alone.usage).isEqualTo(new Usage(40, 32, 1));
            }
            assertThat(computed).as("the prompt's last 8 tokens, or the last one, are computed by everybody")
                    .isLessThanOrEqualTo(40 + 127 * 8).isGreaterThanOrEqualTo(40 + 127);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        }
    }

    @Test
    void the_blocks_of_a_prompt_are_held_once_by_all_of_its_choices() {
        try (var rig = new EngineRig(CACHE, ROOMY)) {
            rig.engine.submit(drawn(tokens(100), 7, 20), List.copyOf(recordings(4)));
            rig.loop.step();
            assertThat(rig.loop.snapshot().pool().usedBlocks()).as("the leader's 100 tokens").isEqualTo(7);
            assertThat(rig.loop.snapshot().load().pendingRequests()).isEqualTo(3);
            assertThat(rig.loop.snapshot().load().pendingPromptTokens()).as("one token each").isEqualTo(3);
            rig.loop.step();

            assertThat(rig.loop.snapshot().load().running()).isEqualTo(4);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).as("six shared, a last one each").isEqualTo(6 + 4);
            rig.runToEnd();
        }
    }

    @ParameterizedTest(name = "async {0}, {1} steps")
    @CsvSource({"false, 1", "true, 1", "false, 4", "true, 3"})
    void choices_draw_what_requests_with_their_seeds_draw_also_where_rules_adjust_and_leaders_are_preempted(
            boolean async, int steps) {
        var settings = SchedulerSettings.of(/* maxBatchedTokens */ 48, 6, 10).withReserveWholeSequence(false)
                .withAsyncScheduling(async).withSteps(steps);
        int[] prompt = tokens(70);
        var rules = LogitRules.NONE.withPenalties(0.5f, 0.2f, 1.2f);
        List<int[]> alone = new ArrayList<>();
        try (var rig = new EngineRig(CACHE, settings)) {
            for (int seed = 50; seed < 56; seed++) {
                Recording one = rig.submit(drawn(prompt, seed, 40, rules));
                rig.runToEnd();
                alone.add(one.tokens());
            }
        }
        try (var rig = new EngineRig(KvCacheSettings.of(22, 16), settings)) {
            Recording before = rig.submit(greedy("before", tokens(90), 60));
            rig.loop.step();
            List<Recording> answers = recordings(6);
            rig.engine.submit(drawn(prompt, 50, 40, rules), List.copyOf(answers));
            rig.runToEnd();

            assertThat(before.finished).isEqualTo(FinishReason.LENGTH);
            assertThat(rig.loop.snapshot().work().preemptions()).isPositive();
            for (int i = 0; i < answers.size(); i++) {
                assertThat(answers.get(i).tokens()).as("choice " + i).isEqualTo(alone.get(i));
                assertThat(answers.get(i).usage).isEqualTo(new Usage(70, 0, 40));
            }
        }
    }

    @Test
    void followers_of_a_leader_that_is_cancelled_before_its_turn_compute_the_prompt_themselves() {
        try (var rig = new EngineRig(CACHE, ROOMY)) {
            List<Recording> answers = recordings(3);
            List<Generation> generations = rig.engine.submit(drawn(tokens(50), 1, 4), List.copyOf(answers));
            rig.engine.cancel(generations.getFirst());
            rig.runToEnd();

            assertThat(answers.getFirst().isOver()).isFalse();
            assertThat(answers.subList(1, 3)).allSatisfy(answer ->
                    assertThat(answer.usage).as("nothing was cached before").isEqualTo(new Usage(50, 0, 4)));
        }
    }

    @ParameterizedTest(name = "async {0}")
    @ValueSource(booleans = {false, true})
    void copies_that_the_device_refuses_end_what_is_in_flight_and_swap_space_forgets_what_never_came(boolean async) {
        var settings = SchedulerSettings.of(300, 4, 8).withReserveWholeSequence(false).withAsyncScheduling(async);
        try (var rig = new EngineRig(KvCacheSettings.of(13, 16).withHostBlockCount(24), settings)) {
            int[] prompt = tokens(80);
            int[] other = tokens(80);
            Recording alone = rig.submit(greedy("alone", other, 60));
            rig.runToEnd();
            Recording unlucky = rig.submit(salted(prompt, 60));
            Recording swapped = rig.submit(salted(other, 60));
            rig.refusesCopies = true;
            rig.runToEnd();

            assertThat(rig.refusesCopies).as("there were copies").isFalse();
            assertThat(unlucky.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
            assertThat(unlucky.message).contains("injected refusal of copies");
            assertThat(swapped.tokens()).as("computed again").isEqualTo(alone.tokens());
            assertThat(rig.cache.freeHostBlocks()).isEqualTo(24);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
            assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
        }
    }

    @Test
    void with_several_steps_every_token_goes_out_as_soon_as_its_step_is_done() {
        try (var rig = new EngineRig(CACHE, ROOMY.withSteps(4))) {
            List<Integer> awaitsAtToken = new ArrayList<>();
            rig.engine.submit(greedy("r", tokens(20), 9), new SilentListener() {
                @Override
                public void onToken(int token, float logprob) {
                    awaitsAtToken.add(rig.awaits);
                }
            });

            assertThat(rig.runToEnd()).as("turns: the prompt, 4 steps, 4 steps").isEqualTo(3);
            assertThat(awaitsAtToken).containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9);
            assertThat(rig.loop.snapshot().work().steps()).isEqualTo(9);
        }
    }

    @Test
    void work_ahead_settles_a_batch_while_the_next_is_computed() {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(true))) {
            Recording one = rig.submit(greedy("r", tokens(20), 3));

            assertThat(rig.loop.step()).as("the first batch is on its way").isZero();
            assertThat(rig.awaits).isZero();
            assertThat(rig.loop.step()).isEqualTo(1);
            assertThat(one.tokenCount()).isEqualTo(1);
            assertThat(rig.announced.size()).as("the block of the prompt").isEqualTo(1);
            rig.runToEnd();
            assertThat(one.finished).isEqualTo(FinishReason.LENGTH);
        }
    }

    @ParameterizedTest(name = "async {0}, {1} steps, the device fails at step {2}")
    @CsvSource({"false, 1, 0", "true, 1, 0", "true, 1, 1", "true, 1, 3", "false, 4, 3", "true, 4, 2", "true, 4, 7"})
    void a_failure_at_any_point_ends_what_is_in_flight_and_leaves_nothing_behind(boolean async, int steps, int after) {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(async).withSteps(steps))) {
            int[] prompt = tokens(40);
            Recording unlucky = rig.submit(greedy("unlucky", prompt, 30));
            rig.submit(greedy("too", tokens(33), 30));
            while (rig.awaits < after) {
                rig.loop.step();
            }
            rig.failingSteps = 1;
            rig.runToEnd();
            assertRecovered(rig, unlucky, prompt);
        }
    }

    @ParameterizedTest(name = "async {0}, {1} steps, the device refuses step {2}")
    @CsvSource({"false, 1, 0", "true, 1, 1", "false, 4, 3", "true, 4, 6"})
    void a_step_that_the_device_refuses_ends_what_is_in_flight_and_leaves_nothing_behind(
            boolean async, int steps, int after) {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(async).withSteps(steps))) {
            int[] prompt = tokens(40);
            Recording unlucky = rig.submit(greedy("unlucky", prompt, 30));
            rig.refusedSubmission = after;
            rig.runToEnd();
            assertRecovered(rig, unlucky, prompt);
        }
    }

    private static void assertRecovered(EngineRig rig, Recording unlucky, int[] prompt) {
        assertThat(unlucky.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
        Recording again = rig.submit(greedy("again", prompt, 30));
        rig.runToEnd();
        Recording fresh = rig.submit(salted(prompt, 30));
        rig.runToEnd();
        assertThat(again.tokens()).as("whatever was cached is right").isEqualTo(fresh.tokens());
        assertThat(Arrays.copyOf(again.tokens(), unlucky.tokenCount())).isEqualTo(unlucky.tokens());
    }

    @Test
    void a_generation_that_is_cancelled_with_steps_in_flight_is_not_told_and_its_blocks_come_back() {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(true).withSteps(3))) {
            var listener = new Recording();
            Generation generation = rig.engine.submit(greedy("gone", tokens(40), 100), listener);
            rig.loop.step();
            rig.loop.step();
            int heard = listener.tokenCount();

            rig.engine.cancel(generation);
            rig.runToEnd();

            assertThat(listener.tokenCount()).isEqualTo(heard);
            assertThat(listener.isOver()).isFalse();
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
            assertThat(rig.announced.size()).isEqualTo(rig.cache.announcedCount());
        }
    }

    @Test
    void a_reset_while_steps_are_in_flight_changes_nothing_and_one_after_them_is_announced() {
        try (var rig = new EngineRig(CACHE, ROOMY.withAsyncScheduling(true))) {
            rig.submit(greedy("r", tokens(40), 3));
            rig.loop.step();
            var early = rig.engine.resetPrefixCache();
            rig.runToEnd();
            assertThat(early).isCompletedWithValue(false);
            assertThat(rig.announced.size()).isEqualTo(2);

            var late = rig.engine.resetPrefixCache();
            rig.loop.step();
            assertThat(late).isCompletedWithValue(true);
            assertThat(rig.announced.size()).isZero();
        }
    }

    @Test
    void a_lower_priority_number_is_served_first_where_the_policy_asks_for_it() {
        try (var rig = new EngineRig(CACHE, SchedulerSettings.of(64, 1, 4).withPolicy(SchedulingPolicy.PRIORITY))) {
            Recording patient = rig.submit(prioritized(tokens(10), 7));
            Recording urgent = rig.submit(prioritized(tokens(10), -3));
            rig.loop.step();
            rig.loop.step();

            assertThat(urgent.isOver()).isTrue();
            assertThat(patient.tokenCount()).isZero();
            rig.runToEnd();
            assertThat(patient.isOver()).isTrue();
        }
    }

    private static GenerateRequest greedy(String id, int[] prompt, int maxTokens) {
        return GenerateRequest.of(id, prompt.clone(), SamplingParameters.GREEDY, pastTheEnd(maxTokens));
    }

    private static GenerateRequest salted(int[] prompt, int maxTokens) {
        return new GenerateRequest("salted", 0, prompt.clone(), SamplingParameters.GREEDY, pastTheEnd(maxTokens), false,
                "s:other", null, null, 0, 0);
    }

    private static GenerateRequest prioritized(int[] prompt, int priority) {
        return new GenerateRequest("prioritized", 0, prompt, SamplingParameters.GREEDY, pastTheEnd(2), false, null, null,
                null, priority, 0);
    }

    private static GenerateRequest drawn(int[] prompt, long seed) {
        return drawn(prompt, seed, 20);
    }

    private static GenerateRequest drawn(int[] prompt, long seed, int maxTokens) {
        return drawn(prompt, seed, maxTokens, LogitRules.NONE);
    }

    private static GenerateRequest drawn(int[] prompt, long seed, int maxTokens, LogitRules rules) {
        return GenerateRequest.of("drawn", prompt.clone(), new SamplingParameters(1.2f, 50, 0.95f, seed).with(rules),
                pastTheEnd(maxTokens));
    }

    private static List<Recording> recordings(int count) {
        return Stream.generate(Recording::new).limit(count).toList();
    }

    private static int[] tokens(int count) {
        int[] tokens = new int[count];
        Arrays.setAll(tokens, _ -> RANDOM.nextInt(2_000));
        return tokens;
    }

    private abstract static class SilentListener implements GenerationListener {

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            // only the tokens count
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            throw new AssertionError(message);
        }
    }
}
