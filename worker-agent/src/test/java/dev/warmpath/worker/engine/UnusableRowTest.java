package dev.warmpath.worker.engine;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.RandomLlama;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A model that computes nothing but NaN behind one of its tokens; prompts with and without it, side by side. */
class UnusableRowTest {

    private static final int POISON = 70;
    private static final int HIDDEN = 36;
    private static final int BLOCK_SIZE = 4;
    private static final int NEW_TOKENS = 20;
    private static final KvCacheSettings CACHE = KvCacheSettings.of(/* blockCount */ 200, BLOCK_SIZE);
    private static final int[] SYSTEM = prompt(1, 24);

    @TempDir
    private static Path model;

    @BeforeAll
    static void writeModel() throws IOException {
        RandomLlama llama = RandomLlama.create(7);
        row(llama, "model.embed_tokens.weight", Float.NaN);
        row(llama, "lm_head.weight", 0); // so that it is never drawn
        llama.write(model);
    }

    private static void row(RandomLlama llama, String name, float value) {
        Arrays.fill(llama.weights().get(name), POISON * HIDDEN, (POISON + 1) * HIDDEN, value);
    }

    /** Budgets: 64 takes a prompt in one step, 20 takes four, so that most chunks draw nothing. */
    @ParameterizedTest(name = "async {0}, {1} steps, {2} tokens a step, poison at {3} of 72")
    @CsvSource({
        "false, 1, 200, 30", "true, 1, 200, 30", "false, 3, 200, 71", "true, 3, 200, 71",
        "false, 1, 20, 30", "true, 1, 20, 30", "true, 1, 20, 2", "true, 3, 20, 71"
    })
    void it_fails_alone_and_the_others_get_the_tokens_that_they_get_without_it(
            boolean async, int steps, int budget, int poisonAt) {
        var settings = SchedulerSettings.of(budget, 8, 8).withAsyncScheduling(async).withSteps(steps);
        int[] bad = with(SYSTEM, prompt(2, 48));
        bad[poisonAt] = POISON;
        List<int[]> good = List.of(with(SYSTEM, prompt(3, 40)), prompt(4, 61), with(SYSTEM, prompt(5, 7)));
        List<int[]> alone = new ArrayList<>();
        for (int[] prompt : good) {
            try (var rig = new EngineRig(model, new VectorBackend(1), CACHE, settings)) {
                Recording answer = rig.submit(greedy(prompt));
                rig.runToEnd();
                assertThat(answer.finished).isEqualTo(FinishReason.LENGTH);
                alone.add(answer.tokens());
            }
        }
        try (var rig = new EngineRig(model, new VectorBackend(1), CACHE, settings)) {
            for (int round = 0; round < 3; round++) {
                List<Recording> answers = new ArrayList<>();
                Recording failing = null;
                for (int i = 0; i < good.size(); i++) {
                    if (i == 1) {
                        failing = rig.submit(greedy(bad));
                    }
                    answers.add(rig.submit(greedy(good.get(i))));
                    rig.loop.step();
                    requireUnannounced(rig, bad, poisonAt);
                }
                while (rig.loop.hasWork()) {
                    rig.loop.step();
                    rig.scheduler.checkIntegrity();
                    requireUnannounced(rig, bad, poisonAt);
                }
                assertThat(failing.failed).isEqualTo(FailureReason.UNUSABLE_LOGITS);
                assertThat(failing.tokenCount()).isZero();
                for (int i = 0; i < good.size(); i++) {
                    assertThat(answers.get(i).tokens()).as("answer %d in round %d", i, round).isEqualTo(alone.get(i));
                    assertThat(answers.get(i).finished).isEqualTo(FinishReason.LENGTH);
                }
                assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
                assertThat(rig.announced.digest()).isEqualTo(rig.cache.announcedDigest());
                assertThat(rig.announced.contains(chain(SYSTEM).key(5)))
                        .as("two that began with it as well have shown that it is right").isTrue();
            }
        }
    }

    @ParameterizedTest(name = "async {0}")
    @CsvSource({"false", "true"})
    void a_chunk_that_draws_nothing_is_checked_before_the_next_but_one_is_computed(boolean async) {
        var settings = SchedulerSettings.of(/* tokens a step */ 16, 4, 4).withAsyncScheduling(async);
        int[] bad = prompt(6, 160);
        bad[3] = POISON;
        try (var rig = new EngineRig(model, new VectorBackend(1), CACHE, settings)) {
            Recording failing = rig.submit(greedy(bad));
            rig.runToEnd();

            assertThat(failing.failed).isEqualTo(FailureReason.UNUSABLE_LOGITS);
            assertThat(failing.message)
                    .isEqualTo("after 160 tokens the model gives no logits that a token could be drawn from");
            assertThat(rig.loop.snapshot().work().computedTokens()).isEqualTo(async ? 32 : 16);
            assertThat(rig.announced.size()).isZero();
            assertThat(rig.loop.snapshot().observed().failed(FailureReason.UNUSABLE_LOGITS)).isEqualTo(1);
        }
    }

    private static void requireUnannounced(EngineRig rig, int[] bad, int poisonAt) {
        BlockHashChain chain = chain(bad);
        for (int block = poisonAt / BLOCK_SIZE; block < chain.blockCount(); block++) {
            assertThat(rig.announced.contains(chain.key(block))).as("block %d is announced", block).isFalse();
        }
    }

    private static BlockHashChain chain(int[] tokens) {
        var chain = new BlockHashChain(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE);
        chain.extend(tokens, tokens.length);
        return chain;
    }

    private static GenerateRequest greedy(int[] prompt) {
        return GenerateRequest.of("any", prompt.clone(), SamplingParameters.GREEDY, pastTheEnd(NEW_TOKENS));
    }

    private static int[] with(int[] beginning, int[] end) {
        int[] whole = Arrays.copyOf(beginning, beginning.length + end.length);
        System.arraycopy(end, 0, whole, beginning.length, end.length);
        return whole;
    }

    private static int[] prompt(long seed, int length) {
        return new SplittableRandom(seed).ints(length, 0, POISON).toArray();
    }
}
