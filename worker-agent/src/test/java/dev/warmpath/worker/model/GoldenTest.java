package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The packaged model against torch: logits of all twelve prompts within a thousandth of the largest, and every greedy
 * token equal; alone and together, from a cold and from a warm cache. Warm runs must repeat the cold logits bit for
 * bit.
 */
class GoldenTest {

    private static final int WHOLE = 2048;
    /** Small enough that the long prompts take several steps, in which the short ones draw already. */
    private static final int CHUNK = 256;
    private static final int MAX_TOKENS = 12 * CHUNK;
    /** Twice what all prompts need: the cold blocks stay while the warm run takes its own. */
    private static final int CACHE_TOKENS = 10_000;

    private final List<Golden.Prompt> prompts = Golden.read().prompts();

    private static TestRunner runner(Backends backend, int blockSize) throws IOException {
        return runner(backend, blockSize, blockSize);
    }

    private static TestRunner runner(Backends backend, int blockSize, int kernelBlockSize) throws IOException {
        return new TestRunner(Golden.MODEL, backend.create(),
                RunnerSettings.of(CACHE_TOKENS / blockSize, blockSize, MAX_TOKENS, 12)
                        .withKernelBlockSize(kernelBlockSize));
    }

    @ParameterizedTest
    @CsvSource({"SCALAR, 16", "VECTOR, 8", "VECTOR_ON_TWO_THREADS, 16", "VECTOR, 32"})
    void each_prompt_alone_equals_torch_from_a_cold_and_a_warm_cache(Backends backend, int blockSize)
            throws IOException {
        try (var runner = runner(backend, blockSize)) {
            for (var prompt : prompts) {
                runner.releaseAllBlocks();
                var cold = cold(runner, prompt);
                float[] logits = runner.prefill(cold, WHOLE);
                checkLogits(prompt, logits);
                generate(runner, List.of(cold), List.of(prompt));

                int computed = runner.computedTokens;
                var warm = warm(runner, cold, prompt);
                float[] again = runner.prefill(warm, WHOLE);
                assertThat(runner.computedTokens - computed)
                        .isEqualTo(prompt.tokens().length - cachedTokens(runner, prompt));
                assertThat(again).as(prompt.name()).containsExactly(logits);
                generate(runner, List.of(warm), List.of(prompt));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"SCALAR, 16, 16", "VECTOR_ON_TWO_THREADS, 8, 8", "VECTOR, 16, 16", "VECTOR, 32, 32", "VECTOR, 32, 16"})
    void all_twelve_prompts_in_one_batch_equal_torch_from_a_cold_and_a_warm_cache(Backends backend, int blockSize,
            int kernelBlockSize) throws IOException {
        try (var runner = runner(backend, blockSize, kernelBlockSize)) {
            List<RunningSequence> cold = prompts.stream().map(prompt -> cold(runner, prompt)).toList();
            runTogether(runner, cold);
            assertThat(runner.largestStep).isEqualTo(12);

            List<RunningSequence> warm = new ArrayList<>();
            int uncached = 0;
            for (int i = 0; i < prompts.size(); i++) {
                warm.add(warm(runner, cold.get(i), prompts.get(i)));
                uncached += prompts.get(i).tokens().length - cachedTokens(runner, prompts.get(i));
            }
            int computed = runner.computedTokens;
            runTogether(runner, warm);
            int drawnAndComputed = prompts.stream().mapToInt(prompt -> prompt.greedy().length - 1).sum();
            assertThat(runner.computedTokens - computed).isEqualTo(uncached + drawnAndComputed);
        }
    }

    @ParameterizedTest
    @CsvSource({"SCALAR, 16", "VECTOR, 16", "VECTOR, 8"})
    void zeroing_one_cached_block_changes_the_logits(Backends backend, int kernelBlockSize) throws IOException {
        var prompt = prompts.stream().filter(candidate -> candidate.tokens().length > 32).findFirst().orElseThrow();
        try (var runner = runner(backend, 16, kernelBlockSize)) {
            var cold = cold(runner, prompt);
            float[] expected = runner.prefill(cold, WHOLE);
            runner.zero(cold.blockTable[1]);
            assertThat(runner.prefill(warm(runner, cold, prompt), WHOLE)).isNotEqualTo(expected);
        }
    }

    private static RunningSequence cold(TestRunner runner, Golden.Prompt prompt) {
        return runner.sequence(prompt.tokens(), prompt.tokens().length + prompt.greedy().length);
    }

    private static RunningSequence warm(TestRunner runner, RunningSequence cold, Golden.Prompt prompt) {
        int cached = cachedTokens(runner, prompt);
        assertThat(cached > 0).isEqualTo(prompt.tokens().length > runner.blockSize);
        return runner.sequenceAfter(cold, cached, prompt.tokens(), prompt.tokens().length + prompt.greedy().length);
    }

    /** Full blocks, but at least one token is computed. */
    private static int cachedTokens(TestRunner runner, Golden.Prompt prompt) {
        return (prompt.tokens().length - 1) / runner.blockSize * runner.blockSize;
    }

    /** All sequences step by step until each has its greedy tokens; logits are checked where each draws its first. */
    private void runTogether(TestRunner runner, List<RunningSequence> sequences) {
        while (!unfinished(sequences, prompts).isEmpty()) {
            var running = unfinished(sequences, prompts);
            int[] lengths = running.stream().mapToInt(RunningSequence::length).toArray();
            runner.step(running, CHUNK);
            int drawn = 0;
            int[] rows = new int[running.size()];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = running.get(i).length() > lengths[i] ? drawn++ : -1;
            }
            for (int i = 0; i < rows.length; i++) {
                var prompt = prompts.get(sequences.indexOf(running.get(i)));
                if (rows[i] >= 0 && lengths[i] == prompt.tokens().length) {
                    checkLogits(prompt, runner.logits(rows[i], drawn));
                }
            }
        }
        checkGreedy(sequences, prompts);
    }

    private static void generate(TestRunner runner, List<RunningSequence> sequences, List<Golden.Prompt> expected) {
        while (!unfinished(sequences, expected).isEmpty()) {
            runner.step(unfinished(sequences, expected), 1);
        }
        checkGreedy(sequences, expected);
    }

    private static List<RunningSequence> unfinished(List<RunningSequence> sequences, List<Golden.Prompt> expected) {
        List<RunningSequence> running = new ArrayList<>();
        for (int i = 0; i < sequences.size(); i++) {
            if (sequences.get(i).length() < expected.get(i).tokens().length + expected.get(i).greedy().length) {
                running.add(sequences.get(i));
            }
        }
        return running;
    }

    private static void checkGreedy(List<RunningSequence> sequences, List<Golden.Prompt> expected) {
        for (int i = 0; i < sequences.size(); i++) {
            var prompt = expected.get(i);
            assertThat(sequences.get(i).tokensFrom(prompt.tokens().length)).as(prompt.name())
                    .containsExactly(prompt.greedy());
        }
    }

    private static void checkLogits(Golden.Prompt prompt, float[] actual) {
        float[] expected = prompt.logits();
        float largest = 0;
        float difference = 0;
        for (int id = 0; id < expected.length; id++) {
            largest = Math.max(largest, Math.abs(expected[id]));
            difference = Math.max(difference, Math.abs(actual[id] - expected[id]));
        }
        assertThat(actual).hasSameSizeAs(expected);
        assertThat(isFinite(actual)).as(prompt.name()).isTrue();
        assertThat(difference).as(prompt.name()).isLessThanOrEqualTo(1e-3f * largest);
    }

    private static boolean isFinite(float[] values) {
        for (float value : values) {
            if (!Float.isFinite(value)) {
                return false;
            }
        }
        return true;
    }
}
