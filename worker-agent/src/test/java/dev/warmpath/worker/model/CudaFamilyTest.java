package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnCard;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every family's tiny model on CUDA, whose activations and cache are bfloat16, against processors: logits behind a
 * prompt, behind a chunk and behind tokens that follow one by one.
 */
class CudaFamilyTest {

    /** Of the largest |logit|, of random weights, which forgive less than trained ones. */
    private static final double BOUND = 8e-2;
    private static final int CHUNK = 23;
    private static final int STEPS = 3;

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {

        @Override
        ComputeBackend create() {
            return CudaBackends.emulated(CacheType.BF16);
        }
    }

    @Nested
    @OnCard
    class OnACard extends Cases {

        @Override
        ComputeBackend create() {
            return CudaBackends.onCard(CacheType.BF16);
        }
    }

    abstract static class Cases {

        @TempDir
        private Path directory;

        abstract ComputeBackend create();

        static List<FamilyCase> families() throws IOException {
            return FamilyCase.all();
        }

        @ParameterizedTest
        @MethodSource("families")
        void logits_are_those_of_processors(FamilyCase family) throws IOException {
            family.model().write(directory);
            ModelConfig config = family.config(directory);
            try (var backend = create()) {
                assumeThat(lack(backend, config)).as("kernels").isNull();
            }
            int[] prompt = family.prompts().getLast().tokens();
            int[] following = family.prompts().getLast().greedy();
            List<float[]> expected = logits(config, new VectorBackend(2), prompt, following);
            List<float[]> actual = logits(config, create(), prompt, following);
            double largest = 0;
            for (int i = 0; i < expected.size(); i++) {
                largest = Math.max(largest, TeacherForced.share(expected.get(i), actual.get(i)));
            }
            System.out.printf(Locale.ROOT, "%s: logits deviate by %.1e of the largest at most%n", family, largest);
            assertThat(largest).isLessThan(BOUND);
        }

        private static @Nullable String lack(ComputeBackend backend, ModelConfig config) {
            return config.layers().stream().map(layer -> backend.lack(config.cacheShape(16), config.headCount(),
                    layer.rotation().size(), layer.attention(), config.hiddenSize(), config.intermediateSize()))
                    .filter(lack -> lack != null).findFirst().orElse(null);
        }

        /** Behind the prompt in chunks, and behind the first tokens that PyTorch goes on with. */
        private List<float[]> logits(ModelConfig config, ComputeBackend backend, int[] prompt, int[] following)
                throws IOException {
            List<float[]> logits = new ArrayList<>();
            int blocks = 1 + 2 * Math.ceilDiv(prompt.length + STEPS, 16);
            try (var runner = new TestRunner(directory, config, backend, RunnerSettings.of(blocks, 16, CHUNK, 1))) {
                var sequence = runner.sequence(prompt, prompt.length + STEPS);
                logits.add(runner.prefill(sequence, CHUNK));
                for (int i = 0; i < STEPS; i++) {
                    sequence.replaceLast(following[i]);
                    runner.step(List.of(sequence), 1);
                    logits.add(runner.logits(0, 1));
                }
            }
            return logits;
        }
    }
}
