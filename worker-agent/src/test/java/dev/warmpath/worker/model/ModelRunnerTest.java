package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelRunnerTest {

    @TempDir
    private Path directory;

    @BeforeEach
    void writeModel() throws IOException {
        RandomLlama.create(7).write(directory);
    }

    private ModelRunner load() throws IOException {
        return ModelRunner.load(directory, new VectorBackend(1),
                RunnerSettings.of(/* blocks */ 9, /* blockSize */ 8, /* tokens */ 32, /* sequences */ 4));
    }

    @Test
    void only_sampled_sequences_bring_tokens_in_their_order() throws IOException {
        try (var runner = load()) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            batch.add(new int[] {1, 2, 3}, 0, 3, new int[] {1}, 1, null);
            batch.add(new int[] {4, 5, 6}, 0, 3, new int[] {2}, 1, new Sampling(1, 0, 0, 1, true));
            batch.add(new int[] {7, 8, 9}, 0, 3, new int[] {3}, 1, Sampling.greedy());
            var pending = runner.submit(batch);
            assertThat(pending.sampledCount()).isEqualTo(2);
            runner.await(pending, output);
            assertThat(output.count()).isEqualTo(2);
            assertThat(output.logprob(0)).isBetween(-10f, 0f);
            assertThat(output.logprob(1)).isNaN();
            int alone = output.token(1);
            batch.clear();
            batch.add(new int[] {7, 8, 9}, 0, 3, new int[] {5}, 1, Sampling.greedy());
            runner.await(runner.submit(batch), output);
            assertThat(output.token(0)).isEqualTo(alone);
        }
    }

    @Test
    void a_step_that_samples_nothing_is_a_step() throws IOException {
        try (var runner = load()) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            batch.add(new int[] {1, 2, 3}, 0, 3, new int[] {1}, 1, null);
            runner.await(runner.submit(batch), output);
            assertThat(output.count()).isZero();
        }
    }

    @Test
    void a_copied_block_serves_as_the_original() throws IOException {
        try (var runner = load()) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            int[] tokens = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
            batch.add(tokens, 0, 10, new int[] {1, 2}, 2, new Sampling(0, 0, 0, 1, true));
            runner.await(runner.submit(batch), output);
            float logprob = output.logprob(0);
            var mapping = new BlockMapping(4);
            mapping.add(1, 7);
            runner.copyBlocks(mapping, CopyDirection.DEVICE_TO_DEVICE);
            batch.clear();
            batch.add(tokens, 8, 2, new int[] {7, 3}, 2, new Sampling(0, 0, 0, 1, true));
            runner.await(runner.submit(batch), output);
            assertThat(output.logprob(0)).isEqualTo(logprob);
        }
    }

    @Test
    void batches_that_do_not_fit_model_or_cache_are_refused_with_the_value() throws IOException {
        try (var runner = load()) {
            var batch = runner.newInputBatch();
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("tokens in the batch: 0, takes 1 to 32");
            batch.add(new int[] {71}, 0, 1, new int[] {1}, 1, null);
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("largest token id: 71, takes 0 to 70");
            batch.clear();
            batch.add(new int[] {70}, 0, 1, new int[] {9}, 1, null);
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("largest block id: 9, takes 1 to 8");
            var other = new InputBatch(32, 4, 4, 16);
            other.add(new int[] {70}, 0, 1, new int[] {1}, 1, null);
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(other))
                    .withMessage("block size: 16, takes 8 to 8");
        }
    }

    @Test
    void bytes_per_block_count_keys_and_values_of_all_layers() throws IOException {
        try (var runner = load()) {
            assertThat(runner.bytesPerBlock()).isEqualTo(/* layers */ 2 * 2 * /* kvHeads */ 2 * 10 * 8 * 4);
        }
    }

    @Test
    void missing_and_superfluous_tensors_refuse_the_model() throws IOException {
        String config = Files.readString(directory.resolve("config.json"));
        Path file = directory.resolve("config.json");
        Files.writeString(file, config.replace("num_hidden_layers\": 2", "num_hidden_layers\": 3"));
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(this::load)
                .withMessageContaining("tensor model.layers.2.input_layernorm.weight is missing");
        Files.writeString(file, config.replace("num_hidden_layers\": 2", "num_hidden_layers\": 1"));
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(this::load)
                .withMessageContaining("holds 9 tensors that this worker has no use for, such as model.layers.1.");
        Files.writeString(file, config.replace("\"vocab_size\": 71", "\"vocab_size\": 70"));
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(this::load)
                .withMessageContaining("is of shape [71, 36], takes shape [70, 36]");
    }
}
