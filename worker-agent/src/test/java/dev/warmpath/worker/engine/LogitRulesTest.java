package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.EosTokens;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Rules for logits through the whole engine, however it is scheduled. */
class LogitRulesTest {

    private static final KvCacheSettings ROOMY = KvCacheSettings.of(256, 16);
    private static final SchedulerSettings SEVERAL = SchedulerSettings.of(512, 8, 8);
    private static final int[] PROMPT = tokens(40, 3);

    private static final LogitRules PENALTIES = LogitRules.NONE.withPenalties(0.75f, 0.5f, 1.3f);

    private static int[] tokens(int count, long seed) {
        return new SplittableRandom(seed).ints(count, 0, 300).toArray();
    }

    private static GenerateRequest request(String id, int[] prompt, LogitRules rules, int maxTokens) {
        return GenerateRequest.of(id, prompt.clone(), SamplingParameters.GREEDY.with(rules),
                StopConditions.pastTheEnd(maxTokens));
    }

    /** Every greedy token is the largest of logits that are adjusted here once more, word for word as vLLM does it. */
    @ParameterizedTest(name = "async {0}, {1} steps")
    @CsvSource({"false, 1", "true, 1", "true, 4"})
    void greedy_tokens_are_the_largest_of_the_adjusted_logits(boolean async, int steps) {
        Map<Integer, float[]> raw = new HashMap<>();
        var watched = new WatchedBackend(new VectorBackend(1), (seed, counter, logits) -> {
            if (seed != BatchComputation.CHECK.seed()) {
                raw.put(counter, logits.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        try (var rig = new EngineRig(watched.watched(), ROOMY, SEVERAL.withAsyncScheduling(async).withSteps(steps))) {
            int[] plain = answer(rig, LogitRules.NONE, 24);
            LogitRules rules = PENALTIES.withBiases(new int[] {plain[3], PROMPT[0]}, -3f, 2.5f)
                    .withBadWords(new int[] {plain[0]}, new int[] {plain[1], plain[2]}, new int[] {3, plain[4], 9});
            raw.clear();
            int[] drawn = answer(rig, rules, 24);

            for (int i = 0; i < drawn.length; i++) {
                float[] adjusted = raw.get(PROMPT.length + i).clone();
                int[] before = Arrays.copyOf(drawn, i);
                adjust(adjusted, rules, PROMPT, before);
                assertThat(drawn[i]).as("token %d", i).isEqualTo(largest(adjusted));
            }
            assertThat(drawn).isNotEqualTo(plain).doesNotContain(plain[0]);
        }
    }

    private static int[] answer(EngineRig rig, LogitRules rules, int maxTokens) {
        Recording recording = rig.submit(request("r", PROMPT, rules, maxTokens));
        rig.runToEnd();
        return recording.tokens();
    }

    private static void adjust(float[] logits, LogitRules rules, int[] prompt, int[] answer) {
        for (int[] word : rules.badWords()) {
            int[] beginning = Arrays.copyOf(word, word.length - 1);
            if (beginning.length <= answer.length && Arrays.equals(beginning,
                    Arrays.copyOfRange(answer, answer.length - beginning.length, answer.length))) {
                logits[word[word.length - 1]] = Float.NEGATIVE_INFINITY;
            }
        }
        for (int i = 0; i < rules.biases().length; i++) {
            logits[rules.biasedTokens()[i]] += rules.biases()[i];
        }
        for (int id = 0; id < logits.length; id++) {
            int token = id;
            int count = (int) Arrays.stream(answer).filter(each -> each == token).count();
            if (count > 0 || Arrays.stream(prompt).anyMatch(each -> each == token)) {
                logits[id] = logits[id] > 0 ? logits[id] / rules.repetitionPenalty()
                        : logits[id] * rules.repetitionPenalty();
            }
            if (count > 0) {
                logits[id] -= rules.frequencyPenalty() * count;
                logits[id] -= rules.presencePenalty();
            }
        }
    }

    private static int largest(float[] logits) {
        int best = 0;
        for (int id = 1; id < logits.length; id++) {
            best = logits[id] > logits[best] ? id : best;
        }
        return best;
    }

    /** Six requests of 100 tokens and more in a pool that holds four. */
    @ParameterizedTest(name = "async {0}, {1} steps, {2} blocks of swap space")
    @CsvSource({"false, 1, 0", "true, 1, 0", "false, 4, 0", "true, 4, 40", "true, 1, 200", "false, 1, 40"})
    void answers_do_not_depend_on_drawing_ahead_chunks_preemption_or_swap(boolean async, int steps, int hostBlocks) {
        List<GenerateRequest> requests = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int[] prompt = tokens(60 + i, i);
            LogitRules rules = switch (i) {
                case 0 -> PENALTIES;
                case 1 -> LogitRules.NONE.withPenalties(1.5f, 0, 1).withMinP(0.05f);
                case 2 -> LogitRules.NONE.withBadWords(new int[] {1}, new int[] {2, 3}, new int[] {4, 5, 6});
                case 3 -> LogitRules.NONE.withAllowedTokens(tokens(50, 9)).withPenalties(0, 1, 1);
                case 4 -> LogitRules.NONE.withBiases(new int[] {7, 8}, 5f, -5f);
                default -> LogitRules.NONE;
            };
            var sampling = new SamplingParameters(i % 2 == 0 ? 0 : 0.9f, 0, i % 2 == 0 ? 1 : 0.9f, i, rules);
            requests.add(GenerateRequest.of("r" + i, prompt, sampling, StopConditions.pastTheEnd(60)));
        }
        var tight = SchedulerSettings.of(/* maxBatchedTokens */ 48, 6, 6).withReserveWholeSequence(false)
                .withAsyncScheduling(async).withSteps(steps);
        List<Recording> alone = new ArrayList<>();
        try (var rig = new EngineRig(ROOMY.withPrefixCaching(false), SEVERAL)) {
            for (GenerateRequest request : requests) {
                alone.add(rig.submit(copy(request)));
                rig.runToEnd();
            }
        }
        try (var rig = new EngineRig(KvCacheSettings.of(28, 16).withHostBlockCount(hostBlocks), tight)) {
            List<Recording> together = requests.stream().map(request -> rig.submit(copy(request))).toList();
            rig.runToEnd();
            for (int i = 0; i < together.size(); i++) {
                assertThat(together.get(i).tokens()).as("request %d", i).isEqualTo(alone.get(i).tokens()).hasSize(60);
            }
            EngineSnapshot end = rig.loop.snapshot();
            assertThat(end.work().preemptions()).isPositive();
            assertThat(end.work().swapPreemptions() > 0).isEqualTo(hostBlocks > 0);
        }
    }

    private static GenerateRequest copy(GenerateRequest request) {
        return GenerateRequest.of(request.requestId(), request.promptTokens().clone(), request.sampling(),
                request.stop());
    }

    @Test
    void who_looks_back_is_drawn_one_step_at_a_time_and_others_several() {
        try (var rig = new EngineRig(ROOMY, SEVERAL.withSteps(4))) {
            rig.submit(request("plain", PROMPT, LogitRules.NONE.withBiases(new int[] {1}, 1f), 9));
            assertThat(rig.runToEnd()).as("turns: the prompt, 4 steps, 4 steps").isEqualTo(3);
            rig.submit(request("looks back", PROMPT, PENALTIES, 9));
            assertThat(rig.runToEnd()).as("the last token of the prompt, and 8 steps").isEqualTo(9);
        }
    }

    @ParameterizedTest(name = "async {0}, {1} steps")
    @CsvSource({"false, 1", "true, 1", "true, 4"})
    void before_min_tokens_no_end_token_is_drawn(boolean async, int steps) throws IOException {
        int eos = EosTokens.read(ModelSource.of(Golden.MODEL))[0];
        try (var rig = new EngineRig(ROOMY, SEVERAL.withAsyncScheduling(async).withSteps(steps))) {
            // both are the likeliest by far
            LogitRules rules = LogitRules.NONE.withBiases(new int[] {eos, 11}, 100f, 99f);
            Recording early = rig.submit(ending(rules, new StopConditions(20, new int[] {11}, false)));
            Recording late = rig.submit(ending(rules, new StopConditions(20, new int[] {11}, false, 5)));
            Recording ignored = rig.submit(ending(rules, new StopConditions(6, new int[] {11}, true, 5)));
            rig.runToEnd();
            assertThat(early.tokens()).containsExactly(eos);
            assertThat(late.tokens()).hasSize(6).endsWith(eos);
            assertThat(Arrays.copyOf(late.tokens(), 5)).doesNotContain(eos, 11);
            assertThat(late.finished).isEqualTo(FinishReason.STOP);
            assertThat(ignored.tokens()).as("an end that is ignored is none").containsExactly(eos, eos, eos, eos, eos,
                    eos);
        }
    }

    private static GenerateRequest ending(LogitRules rules, StopConditions stop) {
        return GenerateRequest.of("r", PROMPT.clone(), SamplingParameters.GREEDY.with(rules), stop);
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void rules_that_leave_no_token_fail_their_request_and_nothing_of_the_cache_is_lost(CapturedOutput log) {
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            // the answer's first is 5, the only one allowed, and after 5 it is a bad word
            LogitRules rules = LogitRules.NONE.withAllowedTokens(5).withBadWords(new int[] {5, 5});
            Recording stuck = rig.submit(request("stuck", PROMPT, rules, 4));
            Recording other = rig.submit(request("other", tokens(20, 4), LogitRules.NONE, 4));
            rig.runToEnd();
            assertThat(stuck.tokens()).containsExactly(5);
            assertThat(stuck.failed).isEqualTo(FailureReason.RULES_LEAVE_NOTHING);
            assertThat(stuck.message)
                    .isEqualTo("after 41 tokens the request's own rules leave no token that could be drawn");
            assertThat(log.getAll().lines().filter(line -> line.contains("WARN"))).as("anybody may ask for that")
                    .isEmpty();
            assertThat(other.tokens()).hasSize(4);
            Recording again = rig.submit(request("again", PROMPT, LogitRules.NONE, 1));
            rig.runToEnd();
            assertThat(again.usage.cachedTokens()).isEqualTo(32);
        }
    }

    @Test
    void what_can_never_be_drawn_or_is_outside_the_vocabulary_is_refused_by_name() throws IOException {
        int eos = EosTokens.read(ModelSource.of(Golden.MODEL))[0];
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            int outside = rig.model.vocabularySize();
            assertRefused(rig, LogitRules.NONE.withBiases(new int[] {outside}, 1f), 0, "token id " + outside
                    + " of biasedTokens is outside the vocabulary of " + outside);
            assertRefused(rig, LogitRules.NONE.withAllowedTokens(1, outside), 0, "token id " + outside
                    + " of allowedTokens");
            assertRefused(rig, LogitRules.NONE.withBadWords(new int[] {1}, new int[] {2, -1}), 0,
                    "token id -1 of badWords");
            assertRefused(rig, LogitRules.NONE.withAllowedTokens(eos, 4).withBadWords(new int[] {4}), 1,
                    "allowedTokens has 2 tokens, and each of them is a bad word or ends the answer");
        }
    }

    @Test
    void a_token_far_outside_the_vocabulary_is_refused_before_anything_is_made_for_it() {
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadAllocatedBytes();
            assertThatThrownBy(() -> rig.submit(request("r", new int[] {Integer.MAX_VALUE}, PENALTIES, 4)))
                    .isInstanceOf(RefusedException.class).hasMessageContaining("token id 2147483647 at position 0");
            assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(16L << 20);
        }
    }

    private static void assertRefused(EngineRig rig, LogitRules rules, int minTokens, String message) {
        assertThatThrownBy(() -> rig.submit(ending(rules, StopConditions.maxTokens(4).withMinTokens(minTokens))))
                .isInstanceOf(RefusedException.class).hasMessageContaining(message);
    }

    @Test
    void who_has_more_to_be_adjusted_than_there_is_room_for_waits_and_loses_nothing() {
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            int[] alone = answer(rig, PENALTIES, 20);
            int distinct = (int) Arrays.stream(PROMPT).distinct().count();
            // with up to twenty of the answer each, the third has no room beside the first two
            rig.scheduler.limitLogitEntries(3 * (distinct + 20) - 1);
            List<Recording> three = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                three.add(rig.submit(request("r" + i, PROMPT, PENALTIES, 20)));
            }
            rig.loop.step();
            assertThat(rig.loop.snapshot().load().running()).isEqualTo(2);
            assertThat(rig.loop.snapshot().load().waiting()).isEqualTo(1);
            rig.runToEnd();
            assertThat(three).allSatisfy(each -> assertThat(each.tokens()).isEqualTo(alone));
        }
    }

    @Test
    void several_answers_to_one_prompt_count_their_own_tokens() {
        try (var rig = new EngineRig(ROOMY, SEVERAL.withAsyncScheduling(true))) {
            var sampling = new SamplingParameters(1, 0, 1, 5, PENALTIES);
            List<Recording> answers = List.of(new Recording(), new Recording());
            rig.engine.submit(GenerateRequest.of("two", PROMPT.clone(), sampling, StopConditions.pastTheEnd(20)),
                    List.copyOf(answers));
            rig.runToEnd();
            Recording second = rig.submit(GenerateRequest.of("second", PROMPT.clone(), sampling.withSeed(6),
                    StopConditions.pastTheEnd(20)));
            rig.runToEnd();
            assertThat(answers.get(1).tokens()).isEqualTo(second.tokens()).isNotEqualTo(answers.get(0).tokens());
        }
    }
}
