package dev.warmpath.worker.engine;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The whole engine on the emulated device: work ahead and preemption by swap, in a pool that is too small. */
@OnEmulatedDevice
class CudaEngineTest {

    private static final int ANSWER = 12;

    @Test
    void requests_that_are_swapped_out_and_in_with_work_ahead_get_the_tokens_they_get_alone() {
        List<Golden.Prompt> prompts = Golden.read().prompts().stream()
                .filter(prompt -> prompt.tokens().length < 40).toList();
        List<int[]> alone = new ArrayList<>();
        try (var rig = new EngineRig(CudaBackends.emulated(CacheType.BF16), KvCacheSettings.of(64, 16),
                SchedulerSettings.of(300, 8, 8))) {
            for (Golden.Prompt prompt : prompts) {
                Recording answer = rig.submit(greedy(prompt));
                rig.runToEnd();
                alone.add(answer.tokens());
            }
        }
        // with their answers the prompts take 13 blocks; 8 there are, and nothing but the copies brings content back
        var settings = SchedulerSettings.of(300, 8, 8).withReserveWholeSequence(false).withAsyncScheduling(true);
        try (var rig = new EngineRig(CudaBackends.emulated(CacheType.BF16),
                KvCacheSettings.of(9, 16).withHostBlockCount(16).withPrefixCaching(false), settings)) {
            List<Recording> answers = prompts.stream().map(prompt -> rig.submit(greedy(prompt))).toList();
            rig.runToEnd();

            for (int i = 0; i < prompts.size(); i++) {
                assertThat(answers.get(i).tokens()).as(prompts.get(i).name()).isEqualTo(alone.get(i));
            }
            EngineSnapshot end = rig.loop.snapshot();
            assertThat(end.work().swapPreemptions()).isPositive();
            assertThat(end.swap().inBlocks()).isPositive();
            assertThat(end.swap().freeBlocks()).isEqualTo(16);
            assertThat(end.pool().usedBlocks()).isZero();
        }
    }

    /** The last token of each is drawn and not known when the next step is enqueued, and counted on the device. */
    @Test
    void answers_with_penalties_and_bad_words_are_the_same_with_work_ahead_and_without() {
        List<List<int[]>> answers = new ArrayList<>();
        int[] word = {};
        for (boolean async : new boolean[] {false, false, true}) {
            try (var rig = new EngineRig(CudaBackends.emulated(CacheType.BF16), KvCacheSettings.of(64, 16),
                    SchedulerSettings.of(300, 8, 8).withAsyncScheduling(async))) {
                LogitRules rules = LogitRules.NONE.withPenalties(1, 0.5f, 1.2f);
                LogitRules later = word.length == 0 ? LogitRules.NONE : LogitRules.NONE.withBadWords(word);
                int[] prompt = new SplittableRandom(4).ints(20, 0, 300).toArray();
                List<Recording> recordings = List.of(rig.submit(ruled(prompt, rules)), rig.submit(ruled(prompt, later)));
                rig.runToEnd();
                answers.add(recordings.stream().map(Recording::tokens).toList());
            }
            word = Arrays.copyOfRange(answers.getFirst().get(1), 2, 4);
        }
        assertThat(answers.get(2)).usingRecursiveComparison().isEqualTo(answers.get(1));
        assertThat(answers.get(1).get(0)).isEqualTo(answers.get(0).get(0)).isNotEqualTo(answers.get(0).get(1));
        assertThat(Arrays.copyOf(answers.get(1).get(1), 3)).isEqualTo(Arrays.copyOf(answers.get(0).get(1), 3));
        assertThat(answers.get(1).get(1)[3]).as("after the word's first token its second is not drawn")
                .isNotEqualTo(word[1]);
    }

    /** BF16 beside float32: log-probabilities differ by some hundredths, and what is cut differently by less. */
    @Test
    void prompts_are_scored_as_processors_do_in_one_chunk_and_in_many() {
        int[] prompt = new SplittableRandom(4).ints(23, 0, 300).toArray();
        GenerateRequest request = GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, pastTheEnd(3))
                .withLogprobs(true, true, 4);
        List<Recording> answers = new ArrayList<>();
        for (int budget : new int[] {0, 300, 8}) {
            ComputeBackend backend = budget == 0 ? new VectorBackend(1) : CudaBackends.emulated(CacheType.BF16);
            try (var rig = new EngineRig(backend, KvCacheSettings.of(64, 16),
                    SchedulerSettings.of(budget == 0 ? 300 : budget, 5, 8).withAsyncScheduling(true))) {
                answers.add(rig.submit(request));
                rig.runToEnd();
            }
        }
        for (Recording answer : answers) {
            assertThat(answer.promptScores).hasSize(22);
            for (int i = 0; i < 22; i++) {
                assertThat(answer.promptScores.get(i).logprob())
                        .isCloseTo(answers.getFirst().promptScores.get(i).logprob(), within(0.3f));
                assertThat(answer.promptScores.get(i).logprob())
                        .isCloseTo(answers.get(1).promptScores.get(i).logprob(), within(answer == answers.getFirst()
                                ? 0.3f : 0.05f));
                assertThat(answer.promptScores.get(i).rank()).isPositive();
            }
            for (int i = 0; i < 3; i++) {
                assertThat(answer.scores.get(i).topIds()).hasSize(4).startsWith(answer.tokens()[i]);
                assertThat(answer.scores.get(i).topLogprobs()[0]).isEqualTo(answer.scores.get(i).logprob());
            }
        }
    }

    private static GenerateRequest ruled(int[] prompt, LogitRules rules) {
        return GenerateRequest.of("r", prompt.clone(), SamplingParameters.GREEDY.with(rules), pastTheEnd(ANSWER));
    }

    /** Prompts of 1 to 90 tokens, up to six sequences at a time, and contexts of up to 248 tokens. */
    @Test
    void after_the_warm_up_no_traffic_asks_for_a_step_that_the_device_has_not_prepared_for() throws Exception {
        try (var rig = new EngineRig(Golden.MODEL, /* context */ 256, CudaBackends.emulated(CacheType.BF16),
                KvCacheSettings.of(200, 16), SchedulerSettings.of(90, 6, 12)); Engine engine = rig.engine.start()) {
            new WarmUp(engine, rig.runner).run(Duration.ofNanos(1));
            int prepared = CudaBackends.preparations();
            assertThat(prepared).isPositive();

            var random = new SplittableRandom(7);
            int[] conversation = random.ints(248, 0, rig.model.vocabularySize()).toArray();
            for (int round = 0; round < 12; round++) {
                List<Recording> answers = new ArrayList<>();
                for (int i = random.nextInt(1, 7); i > 0; i--) {
                    int length = round % 3 == 0 ? random.nextInt(100, 248) : random.nextInt(1, 91);
                    answers.add(rig.submit(GenerateRequest.of("r" + round + i, Arrays.copyOf(conversation, length),
                            SamplingParameters.GREEDY, pastTheEnd(random.nextInt(1, 8)))));
                }
                while (!answers.stream().allMatch(Recording::isOver)) {
                    Thread.sleep(1);
                }
            }
            assertThat(CudaBackends.preparations()).isEqualTo(prepared);
        }
    }

    private static GenerateRequest greedy(Golden.Prompt prompt) {
        return GenerateRequest.of(
                prompt.name(), prompt.tokens().clone(), SamplingParameters.GREEDY, pastTheEnd(ANSWER));
    }
}
