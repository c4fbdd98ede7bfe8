package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every family's tiny model against plain PyTorch, and, bit for bit, against itself in other circumstances. */
@ParameterizedClass
@MethodSource("cases")
class FamilyGoldenTest {

    private static final int WHOLE = 1000;
    /** Of the largest logit. Float32 comes to a few millionths; a thousandth is promised. */
    private static final double BOUND = 5e-5;

    @Parameter
    private FamilyCase family;
    @TempDir
    private Path directory;

    static List<FamilyCase> cases() throws IOException {
        return FamilyCase.all();
    }

    private TestRunner runner(Backends backend, int blockSize) throws IOException {
        family.model().write(directory);
        ModelConfig config = family.config(directory);
        int blocks = 1 + config.groupWindows().size() * 6 * Math.ceilDiv(256, blockSize);
        return new TestRunner(directory, config, backend.create(), RunnerSettings.of(blocks, blockSize, 256, 4));
    }

    @ParameterizedTest
    @EnumSource
    void logits_and_all_64_greedy_tokens_are_those_of_plain_pytorch(Backends backend) throws IOException {
        try (var runner = runner(backend, 16)) {
            for (var prompt : family.prompts()) {
                var sequence = runner.sequence(prompt.tokens(), prompt.length());
                float[] logits = runner.prefill(sequence, WHOLE);
                assertThat(TeacherForced.share(prompt.logits(), logits)).isLessThan(BOUND);
                while (sequence.length() < prompt.length()) {
                    runner.step(List.of(sequence), 1);
                }
                assertThat(sequence.tokensFrom(prompt.tokens().length)).containsExactly(prompt.greedy()).hasSize(64);
                runner.releaseAllBlocks();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void chunks_blocks_and_company_change_no_bit(Backends backend) throws IOException {
        var prompt = family.prompts().getLast();
        float[] whole;
        try (var runner = runner(backend, 16)) {
            whole = runner.prefill(runner.sequence(prompt.tokens(), prompt.length()), WHOLE);
        }
        for (int blockSize : new int[] {8, 32}) {
            try (var runner = runner(backend, blockSize)) {
                assertThat(runner.prefill(runner.sequence(prompt.tokens(), prompt.length()), 7)).containsExactly(whole);
                var other = runner.sequence(family.prompts().getFirst().tokens(), 100);
                var again = runner.sequence(prompt.tokens(), prompt.length());
                runner.step(List.of(other, again), WHOLE);
                assertThat(runner.logits(1, 2)).containsExactly(whole);
            }
        }
    }

    /** Windows of these models are wider than 8 tokens: there they hide nothing, and are windows all the same. */
    @Test
    void a_context_that_is_capped_below_the_windows_changes_no_bit() throws IOException {
        // with longrope the context decides how heads turn
        Assumptions.assumeFalse(family.name().startsWith("phi4"));
        int[] prompt = family.prompts().getFirst().tokens();
        float[] whole;
        try (var runner = runner(Backends.VECTOR, 16)) {
            whole = runner.prefill(runner.sequence(prompt, prompt.length + 1), WHOLE);
        }
        ModelConfig config = family.config(directory);
        ModelConfig capped = config.withContextLength(8);
        assertThat(capped.groupWindows()).isEqualTo(config.groupWindows());
        try (var runner = new TestRunner(directory, capped, Backends.VECTOR.create(),
                RunnerSettings.of(1 + 2 * 4, 16, 256, 4))) {
            assertThat(runner.prefill(runner.sequence(prompt, prompt.length + 1), WHOLE)).containsExactly(whole);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void a_cached_prefix_gives_the_bits_of_a_cold_run(int cached) throws IOException {
        var prompt = family.prompts().getLast();
        try (var runner = runner(Backends.VECTOR, 16)) {
            float[] whole = runner.prefill(runner.sequence(prompt.tokens(), prompt.length()), WHOLE);
            var head = runner.sequence(Arrays.copyOf(prompt.tokens(), cached), cached + 1);
            runner.prefill(head, WHOLE);
            int computed = runner.computedTokens;
            var warm = runner.sequenceAfter(head, cached, prompt.tokens(), prompt.length());
            assertThat(runner.prefill(warm, WHOLE)).containsExactly(whole);
            assertThat(runner.computedTokens - computed).isEqualTo(prompt.tokens().length - cached);
        }
    }
}
