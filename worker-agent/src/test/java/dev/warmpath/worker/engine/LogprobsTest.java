package dev.warmpath.worker.engine;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.engine.Recording.Told;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RandomLlama;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Log-probabilities of prompts and of drawn tokens, held to the model's logits, however it is scheduled. */
class LogprobsTest {

    private static final KvCacheSettings ROOMY = KvCacheSettings.of(256, 16);
    private static final SchedulerSettings SEVERAL = SchedulerSettings.of(512, 8, 8);
    private static final int[] PROMPT = tokens(150, 3);

    private static int[] tokens(int count, long seed) {
        return new SplittableRandom(seed).ints(count, 0, 2_000).toArray();
    }

    private static GenerateRequest greedy(int[] prompt, int maxTokens) {
        return GenerateRequest.of("r", prompt.clone(), SamplingParameters.GREEDY, pastTheEnd(maxTokens));
    }

    private static GenerateRequest scored(int[] prompt, int maxTokens, int alternatives) {
        return greedy(prompt, maxTokens).withLogprobs(true, true, alternatives);
    }

    /** Row p is what the model says of the token behind position p. */
    private static float[][] logits(Path model, int[] tokens) {
        var settings = RunnerSettings.of(Math.ceilDiv(tokens.length, 16) + 1, 16, /* maxBatchTokens */ 1, 1);
        try (var runner = ModelRunner.load(model, new VectorBackend(1), settings); var arena = Arena.ofConfined()) {
            int[] blocks = IntStream.rangeClosed(1, Math.ceilDiv(tokens.length, 16)).toArray();
            var row = arena.allocate(ValueLayout.JAVA_FLOAT, runner.config().vocabularySize());
            var batch = runner.newInputBatch();
            var output = runner.newStepOutput();
            float[][] logits = new float[tokens.length][];
            for (int position = 0; position < tokens.length; position++) {
                batch.clear();
                batch.add(tokens, position, 1, blocks, blocks.length, Sampling.greedy());
                runner.await(runner.submit(batch), output);
                runner.readLogits(1, row);
                logits[position] = row.toArray(ValueLayout.JAVA_FLOAT);
            }
            return logits;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static float[][] logits(int[] tokens) {
        return logits(Golden.MODEL, tokens);
    }

    private static int[] joined(int[] prompt, int[] answer) {
        int[] all = Arrays.copyOf(prompt, prompt.length + answer.length);
        System.arraycopy(answer, 0, all, prompt.length, answer.length);
        return all;
    }

    /** The model's own words for one token, by a sort and a sum in float64. */
    private static void assertTold(Told told, float[] logits, int token, int alternatives, boolean ranked) {
        double sum = 0;
        int rank = 0;
        for (float logit : logits) {
            sum += Math.exp(logit);
            rank += logit >= logits[token] ? 1 : 0;
        }
        int[] likeliest = IntStream.range(0, logits.length).boxed()
                .sorted(Comparator.comparingDouble((Integer id) -> -logits[id]).thenComparingInt(id -> id))
                .limit(alternatives).mapToInt(Integer::intValue).toArray();
        assertThat(told.logprob()).isCloseTo((float) (logits[token] - Math.log(sum)), within(1e-5f));
        assertThat(told.rank()).isEqualTo(ranked ? rank : 0);
        assertThat(told.topIds()).containsExactly(likeliest);
        for (int place = 0; place < likeliest.length; place++) {
            assertThat(told.topLogprobs()[place])
                    .isCloseTo((float) (logits[likeliest[place]] - Math.log(sum)), within(1e-5f));
            if (likeliest[place] == token) {
                assertThat(told.topLogprobs()[place]).as("the same token's").isEqualTo(told.logprob());
            }
        }
    }

    private static void assertPrompt(Recording answer, float[][] logits, int[] prompt, int alternatives) {
        assertThat(answer.promptScores).hasSize(prompt.length - 1);
        for (int position = 1; position < prompt.length; position++) {
            assertTold(answer.promptScores.get(position - 1), logits[position - 1], prompt[position], alternatives,
                    true);
        }
    }

    private static void assertAnswer(Recording answer, float[][] logits, int promptLength, int alternatives) {
        for (int i = 0; i < answer.tokenCount(); i++) {
            assertTold(answer.scores.get(i), logits[promptLength + i - 1], answer.tokens()[i], alternatives, false);
        }
    }

    /** Budgets of odd sizes, and of one row less and more than the head takes at once. */
    @ParameterizedTest(name = "async {0}, {1} steps, {2} tokens a step")
    @CsvSource({"false, 1, 512", "true, 1, 512", "false, 1, 37", "true, 4, 37", "true, 1, 8", "false, 3, 9"})
    void prompt_and_answer_are_told_as_the_models_logits_say_however_the_prompt_is_cut(
            boolean async, int steps, int budget) {
        var settings = SchedulerSettings.of(budget, 8, 8).withAsyncScheduling(async).withSteps(steps);
        try (var rig = new EngineRig(ROOMY, settings)) {
            Recording beside = rig.submit(greedy(tokens(60, 8), 30));
            rig.loop.step();
            Recording answer = rig.submit(scored(PROMPT, 20, 3));
            Recording plain = rig.submit(greedy(PROMPT, 20));
            rig.runToEnd();

            assertThat(answer.tokens()).isEqualTo(plain.tokens());
            float[][] logits = logits(joined(PROMPT, answer.tokens()));
            assertPrompt(answer, logits, PROMPT, 3);
            assertAnswer(answer, logits, PROMPT.length, 3);
            assertThat(beside.finished).isEqualTo(FinishReason.LENGTH);
            assertThat(beside.promptScores).isEmpty();
            assertThat(plain.promptScores).isEmpty();
            assertThat(plain.scores).allMatch(told -> Float.isNaN(told.logprob()) && told.topIds().length == 0);
        }
    }

    @Test
    void a_cached_prompt_is_computed_once_more_for_its_scores_and_serves_the_next_one_from_the_cache() {
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            rig.submit(greedy(PROMPT, 2));
            rig.runToEnd();
            Recording again = rig.submit(scored(PROMPT, 2, 5));
            rig.runToEnd();
            Recording plain = rig.submit(greedy(PROMPT, 2));
            rig.runToEnd();

            assertThat(again.usage).isEqualTo(new Usage(150, /* cached */ 0, 2));
            assertPrompt(again, logits(PROMPT), PROMPT, 5);
            assertThat(plain.usage).isEqualTo(new Usage(150, 144, 2));
        }
    }

    /** The second prompt is cut into chunks of eight, and the first answer takes its blocks before it is through. */
    @ParameterizedTest(name = "async {0}, {1} blocks of swap space")
    @CsvSource({"false, 0", "true, 0", "false, 40", "true, 40"})
    void a_prompt_whose_blocks_were_taken_is_told_on_from_where_it_stood(boolean async, int hostBlocks) {
        int[] prompt = tokens(250, 4);
        var settings = SchedulerSettings.of(9, 4, 4).withReserveWholeSequence(false).withAsyncScheduling(async);
        try (var rig = new EngineRig(KvCacheSettings.of(22, 16).withHostBlockCount(hostBlocks), settings)) {
            Recording first = rig.submit(greedy(tokens(100, 5), 80));
            while (first.tokenCount() == 0) {
                rig.loop.step();
            }
            Recording second = rig.submit(scored(prompt, 5, 2));
            rig.runToEnd();

            assertThat(second.times.preemptions()).isPositive();
            assertThat(rig.loop.snapshot().work().swapPreemptions() > 0).isEqualTo(hostBlocks > 0);
            float[][] logits = logits(joined(prompt, second.tokens()));
            assertPrompt(second, logits, prompt, 2);
            assertAnswer(second, logits, prompt.length, 2);
            if (hostBlocks == 0) {
                assertThat(rig.loop.snapshot().prefixCache().hitTokens()).as("hits of first admissions").isZero();
            }
        }
    }

    @Test
    void of_several_answers_the_first_tells_the_prompt_and_all_share_it() {
        try (var rig = new EngineRig(ROOMY, SchedulerSettings.of(64, 8, 8).withAsyncScheduling(true))) {
            List<Recording> answers = List.of(new Recording(), new Recording(), new Recording());
            rig.engine.submit(scored(PROMPT, 6, 2), List.copyOf(answers));
            rig.runToEnd();

            float[][] logits = logits(joined(PROMPT, answers.getFirst().tokens()));
            assertPrompt(answers.getFirst(), logits, PROMPT, 2);
            assertThat(answers.subList(1, 3)).allMatch(answer -> answer.promptScores.isEmpty());
            for (Recording answer : answers) {
                assertAnswer(answer, logits, PROMPT.length, 2);
            }
            assertThat(rig.loop.snapshot().work().computedTokens()).isEqualTo(150 + 2 + 3 * 5);
        }
    }

    /** Everybody waits for a leader that still owes scores, even if others could have its prompt from the cache. */
    @Test
    void followers_of_a_leader_that_lost_its_blocks_say_nothing_before_the_prompt_is_told() {
        int[] prompt = tokens(250, 4);
        var settings = SchedulerSettings.of(9, 4, 4).withReserveWholeSequence(false);
        try (var rig = new EngineRig(KvCacheSettings.of(22, 16), settings)) {
            Recording first = rig.submit(greedy(tokens(100, 5), 80));
            while (first.tokenCount() == 0) {
                rig.loop.step();
            }
            Recording leader = new Recording();
            Recording follower = new Recording() {
                @Override
                public void onToken(int token, float logprob) {
                    assertThat(leader.promptScores).hasSize(249);
                    super.onToken(token, logprob);
                }
            };
            rig.engine.submit(scored(prompt, 5, 0), List.of(leader, follower));
            rig.runToEnd();

            assertThat(leader.times.preemptions()).isPositive();
            assertThat(follower.tokens()).isEqualTo(leader.tokens());
        }
    }

    @ParameterizedTest(name = "async {0}, {1} steps")
    @CsvSource({"false, 1", "true, 1", "true, 4"})
    void alternatives_are_of_the_raw_logits_whatever_rules_and_temperature_do_to_the_draw(boolean async, int steps) {
        try (var rig = new EngineRig(ROOMY, SEVERAL.withAsyncScheduling(async).withSteps(steps))) {
            var sampling = new SamplingParameters(1.3f, 40, 0.95f, 77)
                    .with(LogitRules.NONE.withBiases(new int[] {5, 6}, 6f, -4f));
            Recording answer = rig.submit(GenerateRequest.of("r", PROMPT.clone(), sampling, pastTheEnd(24))
                    .withLogprobs(true, false, 20));
            Recording without = rig.submit(GenerateRequest.of("r", PROMPT.clone(), sampling, pastTheEnd(24)));
            rig.runToEnd();

            assertThat(answer.tokens()).isEqualTo(without.tokens());
            assertThat(answer.promptScores).isEmpty();
            assertAnswer(answer, logits(joined(PROMPT, answer.tokens())), PROMPT.length, 20);
        }
    }

    @Test
    void a_prompt_of_one_token_has_nothing_to_tell() {
        try (var rig = new EngineRig(ROOMY, SEVERAL)) {
            Recording answer = rig.submit(scored(new int[] {5}, 3, 2));
            List<Recording> several = List.of(new Recording(), new Recording());
            rig.engine.submit(scored(new int[] {5}, 3, 2), List.copyOf(several));
            rig.runToEnd();

            assertThat(answer.promptScores).isEmpty();
            assertAnswer(answer, logits(joined(new int[] {5}, answer.tokens())), 1, 2);
            assertThat(several).allMatch(each -> each.promptScores.isEmpty() && each.tokenCount() == 3);
        }
    }

    @Test
    void a_vocabulary_of_thirteen_tokens_has_thirteen_alternatives(@TempDir Path model) throws IOException {
        List<AttentionSpec> layers = Collections.nCopies(2, AttentionSpec.plain(10));
        RandomLlama.create(9, layers, /* vocabulary */ 13).write(model);
        int[] prompt = {1, 7, 12, 0, 3};
        try (var rig = new EngineRig(model, new VectorBackend(1), ROOMY, SEVERAL)) {
            Recording answer = rig.submit(scored(prompt, 4, 20));
            rig.runToEnd();

            float[][] logits = logits(model, joined(prompt, answer.tokens()));
            assertPrompt(answer, logits, prompt, 13);
            assertAnswer(answer, logits, prompt.length, 13);
            assertThat(answer.scores.getFirst().topIds()).hasSize(13);
        }
    }

    @Test
    void who_cannot_be_scored_fails_alone_though_its_last_row_looks_well() {
        var real = new VectorBackend(1);
        try (var rig = new EngineRig(blindedAt(real, 40), ROOMY, SEVERAL)) {
            Recording plain = rig.submit(greedy(PROMPT, 4));
            Recording failing = rig.submit(scored(PROMPT, 4, 1));
            Recording fine = rig.submit(scored(Arrays.copyOf(PROMPT, 30), 4, 1));
            rig.runToEnd();

            assertThat(failing.failed).isEqualTo(FailureReason.UNUSABLE_LOGITS);
            assertThat(failing.promptScores).isEmpty();
            assertThat(plain.finished).isEqualTo(FinishReason.LENGTH);
            assertPrompt(fine, logits(PROMPT), Arrays.copyOf(PROMPT, 30), 1);
        }
    }

    /** A backend that finds one row's logits unusable, by its number among those of prompts behind three drawn ones. */
    private static ComputeBackend blindedAt(ComputeBackend real, int promptRow) {
        int row = 3 + promptRow;
        return (ComputeBackend) Proxy.newProxyInstance(LogprobsTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                    try {
                        Object result = method.invoke(real, arguments);
                        if (method.getName().equals("score") && (int) arguments[3] <= row
                                && row < (int) arguments[3] + (int) arguments[4]) {
                            blind((ScoredTokens) arguments[2], real, row);
                        }
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static void blind(ScoredTokens scored, ComputeBackend real, int row) {
        try (var arena = Arena.ofConfined()) {
            var ranks = arena.allocate(ValueLayout.JAVA_INT, row + 1L);
            real.read(scored.ranks(), row + 1, ranks);
            ranks.setAtIndex(ValueLayout.JAVA_INT, row, ScoredTokens.UNUSABLE);
            real.write(scored.ranks(), ranks);
        }
    }
}
