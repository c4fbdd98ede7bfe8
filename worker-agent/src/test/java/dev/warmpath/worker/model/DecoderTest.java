package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.worker.compute.AttentionSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The decoder on a two-layer random model, against float64 and, bit for bit, against itself in other circumstances. */
class DecoderTest {

    private static final int WHOLE = 1000;

    @TempDir
    private Path directory;
    private final RandomLlama model = RandomLlama.create(7);
    private final int[] prompt = tokens(90, 1);

    @BeforeEach
    void writeModel() throws IOException {
        model.write(directory);
    }

    private int[] tokens(int count, long seed) {
        return new SplittableRandom(seed).ints(count, 0, model.config().vocabularySize()).toArray();
    }

    private TestRunner runner(Backends backend, int blockSize) throws IOException {
        return new TestRunner(directory, backend.create(), 1 + 1600 / blockSize, blockSize, 400, 12);
    }

    @ParameterizedTest
    @EnumSource
    void logits_at_every_position_equal_the_float64_reference(Backends backend) throws IOException {
        double[][] expected = new ReferenceLlama(model).logits(prompt);
        try (var runner = runner(backend, 16)) {
            for (int length : new int[] {1, 2, 15, 16, 17, 33, 90}) {
                runner.releaseAllBlocks();
                int[] head = Arrays.copyOf(prompt, length);
                float[] logits = runner.prefill(runner.sequence(head, length + 1), WHOLE);
                for (int id = 0; id < logits.length; id++) {
                    // logits here are about 1; two layers of sums of up to 60 float32 terms each
                    assertThat((double) logits[id]).isCloseTo(expected[length - 1][id], within(2e-5));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void a_row_has_the_same_bits_whatever_the_chunks_and_the_block_size(Backends backend) throws IOException {
        float[] whole = logitsOf(backend, 16, WHOLE);
        for (int blockSize : new int[] {8, 16, 32}) {
            for (int chunk : new int[] {1, 7, 33, WHOLE}) {
                assertThat(logitsOf(backend, blockSize, chunk)).containsExactly(whole);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"SCALAR, 16", "VECTOR, 16", "VECTOR, 8", "VECTOR, 2", "VECTOR_ON_TWO_THREADS, 4"})
    void a_row_has_the_same_bits_where_the_device_sees_smaller_blocks(Backends backend, int kernelBlockSize)
            throws IOException {
        float[] whole = logitsOf(backend, 32, WHOLE);
        var settings = RunnerSettings.of(1 + 1600 / 32, 32, 400, 12).withKernelBlockSize(kernelBlockSize);
        try (var runner = new TestRunner(directory, backend.create(), settings)) {
            assertThat(runner.prefill(runner.sequence(prompt, 91), 33)).containsExactly(whole);
        }
    }

    /** Four layers, as Gemma 2 alternates them: a group of the cache without a window, one with. */
    @ParameterizedTest
    @CsvSource({"SCALAR, 16, 1000", "VECTOR, 16, 1000", "VECTOR, 4, 13", "VECTOR_ON_TWO_THREADS, 8, 7"})
    void layers_with_windows_keep_few_blocks_and_equal_the_float64_reference(Backends backend, int blockSize, int chunk)
            throws IOException {
        var local = new AttentionSpec(0.4, /* window */ 19, /* softCap */ 5, false);
        var global = new AttentionSpec(0.4, AttentionSpec.NO_WINDOW, 5, false);
        var windowed = RandomLlama.create(7, List.of(local, global, local, global));
        windowed.write(directory);
        double[][] expected = new ReferenceLlama(windowed).logits(prompt);
        var settings = RunnerSettings.of(1 + 2 * 100 / blockSize + 2, blockSize, 400, 12);
        try (var runner = new TestRunner(directory, windowed.config(), backend.create(), settings)) {
            float[] logits = runner.prefill(runner.sequence(prompt, 91), chunk);
            for (int id = 0; id < logits.length; id++) {
                assertThat((double) logits[id]).isCloseTo(expected[89][id], within(4e-5));
            }
        }
    }

    private float[] logitsOf(Backends backend, int blockSize, int chunk) throws IOException {
        try (var runner = runner(backend, blockSize)) {
            return runner.prefill(runner.sequence(prompt, 91), chunk);
        }
    }

    @Test
    void a_row_has_the_same_bits_on_one_thread_and_on_two() throws IOException {
        assertThat(logitsOf(Backends.VECTOR_ON_TWO_THREADS, 16, WHOLE))
                .containsExactly(logitsOf(Backends.VECTOR, 16, WHOLE));
    }

    @ParameterizedTest
    @EnumSource
    void a_sequence_in_a_crowd_of_twelve_has_the_bits_and_tokens_it_has_alone(Backends backend) throws IOException {
        try (var runner = runner(backend, 8)) {
            var alone = runner.sequence(prompt, 100);
            float[] expected = runner.prefill(alone, WHOLE);
            for (int i = 0; i < 9; i++) {
                runner.step(List.of(alone), 1);
            }
            runner.releaseAllBlocks();
            List<RunningSequence> crowd = new ArrayList<>();
            for (int i = 0; i < 11; i++) {
                crowd.add(runner.sequence(tokens(3 + 9 * i, 50 + i), 120));
            }
            crowd.add(7, runner.sequence(prompt, 100));
            runner.step(crowd, 30);
            runner.step(crowd, 30);
            runner.step(crowd, 30);
            assertThat(runner.largestStep).isEqualTo(12);
            int before = (int) crowd.subList(0, 7).stream().filter(sequence -> sequence.uncomputed() == 1).count();
            int drawn = (int) crowd.stream().filter(sequence -> sequence.uncomputed() == 1).count();
            assertThat(runner.logits(before, drawn)).containsExactly(expected);
            for (int i = 0; i < 9; i++) {
                runner.step(crowd, 1);
            }
            assertThat(crowd.get(7).tokensFrom(90)).containsExactly(alone.tokensFrom(90));
        }
    }

    @ParameterizedTest
    @EnumSource
    void a_cached_prefix_gives_the_bits_of_a_cold_run_and_saves_its_tokens(Backends backend) throws IOException {
        try (var runner = runner(backend, 16)) {
            var cold = runner.sequence(prompt, 91);
            float[] expected = runner.prefill(cold, WHOLE);
            assertThat(runner.computedTokens).isEqualTo(90);
            float[] warm = runner.prefill(runner.sequenceAfter(cold, 80, prompt, 91), WHOLE);
            assertThat(runner.computedTokens).isEqualTo(90 + 10);
            assertThat(warm).containsExactly(expected);
        }
    }
}
