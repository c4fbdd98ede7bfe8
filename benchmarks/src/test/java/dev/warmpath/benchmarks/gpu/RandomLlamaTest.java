package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RandomLlamaTest {

    @Test
    void the_written_model_loads_and_its_logits_are_numbers_that_differ(@TempDir Path directory) throws IOException {
        RandomLlama.write(LlamaShape.tiny(), directory);
        try (var runner = ModelRunner.load(directory, new VectorBackend(1), RunnerSettings.of(4, 16, 32, 1));
                var arena = Arena.ofConfined()) {
            var batch = runner.newInputBatch();
            batch.add(new int[] {1, 2, 3, 255}, 0, 4, new int[] {1}, 1, Sampling.greedy());
            runner.await(runner.submit(batch), new StepOutput(1));
            var logits = arena.allocate(ValueLayout.JAVA_FLOAT, 256);
            runner.readLogits(1, logits);
            float[] values = logits.toArray(ValueLayout.JAVA_FLOAT);
            for (float value : values) {
                assertThat(value).isFinite().isBetween(-5f, 5f);
            }
            assertThat(values).doesNotHaveDuplicates();
        }
    }
}
