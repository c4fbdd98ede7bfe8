package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.Golden;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Torch's greedy tokens through the whole engine: scheduler, prefix cache and block tables decide what is computed. */
class EngineGoldenTest {

    private static final int MAX_BATCHED_TOKENS = 2048;
    /** Room for all prompts and answers together. */
    private static final int CACHE_TOKENS = 16_384;
    /** The plain loops take seconds for a long prompt; its arithmetic alone is held to torch elsewhere. */
    private static final int LONGEST_SCALAR_PROMPT = 600;

    @ParameterizedTest(name = "{0}, blocks of {1}")
    @CsvSource({"vector, 8", "vector, 16", "vector, 32", "scalar, 16"})
    void a_cold_and_a_warm_cache_give_torchs_tokens_and_the_warm_one_computes_only_what_is_not_cached(
            String backendName, int blockSize) {
        boolean scalar = backendName.equals("scalar");
        ComputeBackend backend = scalar ? new ScalarBackend() : new VectorBackend(1);
        List<Golden.Prompt> prompts = Golden.read().prompts().stream()
                .filter(prompt -> !scalar || prompt.tokens().length <= LONGEST_SCALAR_PROMPT).toList();
        int blockCount = CACHE_TOKENS / blockSize;
        try (var rig = new EngineRig(backend, blockSize, blockCount, MAX_BATCHED_TOKENS, 12, 12)) {
            List<Recording> cold = run(rig, prompts);
            long computedCold = rig.loop.snapshot().work().computedTokens();
            List<Recording> warm = run(rig, prompts);
            long computedWarm = rig.loop.snapshot().work().computedTokens() - computedCold;

            long expected = 0;
            for (int i = 0; i < prompts.size(); i++) {
                Golden.Prompt prompt = prompts.get(i);
                int cached = (prompt.tokens().length - 1) / blockSize * blockSize;
                assertThat(cold.get(i).tokens()).as(prompt.name()).isEqualTo(prompt.greedy());
                assertThat(warm.get(i).tokens()).as(prompt.name()).isEqualTo(prompt.greedy());
                assertThat(warm.get(i).usage.cachedTokens()).as(prompt.name()).isEqualTo(cached);
                // the last drawn token is never computed
                expected += prompt.tokens().length - cached + prompt.greedy().length - 1;
            }
            assertThat(computedWarm).isEqualTo(expected).isLessThan(computedCold);
        }
    }

    private static List<Recording> run(EngineRig rig, List<Golden.Prompt> prompts) {
        List<Recording> recordings = new ArrayList<>();
        for (Golden.Prompt prompt : prompts) {
            recordings.add(rig.submit(GenerateRequest.of(prompt.name(), prompt.tokens().clone(),
                    SamplingParameters.GREEDY, StopConditions.pastTheEnd(prompt.greedy().length))));
        }
        rig.runToEnd();
        return recordings;
    }
}
