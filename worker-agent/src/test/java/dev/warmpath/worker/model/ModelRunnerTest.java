package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelRunnerTest {

    @TempDir
    private Path directory;

    @BeforeEach
    void writeModel() throws IOException {
        RandomLlama.create(7).write(directory);
    }

    private static final RunnerSettings SETTINGS =
            RunnerSettings.of(/* blocks */ 9, /* blockSize */ 8, /* tokens */ 32, /* sequences */ 4);
    private static final Sampling WITH_LOGPROB = new Sampling(0, 0, 0, 1, true);

    private ModelRunner load() throws IOException {
        return load(SETTINGS);
    }

    private ModelRunner load(RunnerSettings settings) throws IOException {
        return ModelRunner.load(directory, new VectorBackend(1), settings);
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
    void tokens_fed_on_the_device_equal_those_that_took_the_way_over_the_host() throws IOException {
        int[] first = {4, 5, 6, 0, 0, 0, 0, 0, 0};
        int[] second = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0};
        int[] fedFirst = first.clone();
        int[] fedSecond = second.clone();
        try (var runner = load(SETTINGS)) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            for (int step = 0; step < 6; step++) {
                batch.clear();
                batch.add(first, step == 0 ? 0 : 2 + step, step == 0 ? 3 : 1, new int[] {1, 2}, 2, Sampling.greedy());
                batch.add(second, step == 0 ? 0 : 8 + step, step == 0 ? 9 : 1, new int[] {3, 4}, 2, WITH_LOGPROB);
                runner.await(runner.submit(batch), output);
                first[3 + step] = output.token(0);
                second[9 + step] = output.token(1);
            }
        }
        try (var runner = load(SETTINGS.withMaxStepsInFlight(6))) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            var steps = new ArrayDeque<PendingStep>();
            for (int step = 0; step < 6; step++) {
                batch.clear();
                if (step == 0) {
                    batch.add(fedFirst, 0, 3, new int[] {1, 2}, 2, Sampling.greedy());
                    batch.add(fedSecond, 0, 9, new int[] {3, 4}, 2, WITH_LOGPROB);
                } else {
                    // the two change places in every step
                    boolean swapped = step % 2 == 1;
                    batch.addFed(1, swapped ? 8 + step : 2 + step, swapped ? new int[] {3, 4} : new int[] {1, 2}, 2,
                            Sampling.greedy());
                    batch.addFed(0, swapped ? 2 + step : 8 + step, swapped ? new int[] {1, 2} : new int[] {3, 4}, 2,
                            Sampling.greedy());
                }
                steps.addLast(runner.submit(batch));
            }
            for (int step = 0; step < 6; step++) {
                runner.await(steps.removeFirst(), output);
                fedFirst[3 + step] = output.token(step % 2);
                fedSecond[9 + step] = output.token(1 - step % 2);
            }
        }
        assertThat(fedFirst).isEqualTo(first);
        assertThat(fedSecond).isEqualTo(second);
    }

    @Test
    void a_step_may_be_fed_from_one_that_has_been_awaited_and_no_row_that_it_did_not_draw() throws IOException {
        try (var runner = load()) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            batch.addFed(0, 0, new int[] {1}, 1, Sampling.greedy());
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("largest row fed from the step before: 0, takes 0 to -1");
            batch.clear();
            batch.add(new int[] {4, 5, 6}, 0, 3, new int[] {2}, 1, Sampling.greedy());
            runner.await(runner.submit(batch), output);
            int drawn = output.token(0);
            batch.clear();
            batch.addFed(1, 3, new int[] {2}, 1, WITH_LOGPROB);
            assertThatIllegalArgumentException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("largest row fed from the step before: 1, takes 0 to 0");
            batch.clear();
            batch.addFed(0, 3, new int[] {2}, 1, WITH_LOGPROB);
            runner.await(runner.submit(batch), output);
            float logprob = output.logprob(0);
            batch.clear();
            batch.add(new int[] {4, 5, 6, drawn}, 0, 4, new int[] {5}, 1, WITH_LOGPROB);
            runner.await(runner.submit(batch), output);
            assertThat(output.logprob(0)).isEqualTo(logprob);
        }
    }

    @Test
    void no_more_steps_are_in_flight_than_the_settings_say_and_the_oldest_is_awaited_first() throws IOException {
        try (var runner = load(SETTINGS.withMaxStepsInFlight(2))) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            batch.add(new int[] {4, 5, 6}, 0, 3, new int[] {2}, 1, Sampling.greedy());
            PendingStep one = runner.submit(batch);
            PendingStep two = runner.submit(batch);
            assertThatIllegalStateException().isThrownBy(() -> runner.submit(batch))
                    .withMessage("steps in flight: 2, takes no more");
            assertThatIllegalStateException().isThrownBy(() -> runner.await(two, output));
            runner.await(one, output);
            int drawn = output.token(0);
            PendingStep three = runner.submit(batch);
            runner.await(two, output);
            runner.await(three, output);
            assertThat(output.token(0)).isEqualTo(drawn);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 4, 1})
    void a_sequence_goes_on_from_blocks_that_were_in_swap_space(int kernelBlockSize) throws IOException {
        try (var runner = load(SETTINGS.withHostBlockCount(3).withKernelBlockSize(kernelBlockSize))) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            int[] tokens = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11};
            batch.add(tokens, 0, 11, new int[] {1, 2}, 2, WITH_LOGPROB);
            runner.await(runner.submit(batch), output);
            float logprob = output.logprob(0);
            copy(runner, CopyDirection.DEVICE_TO_HOST, 1, 2, 2, 0);
            copy(runner, CopyDirection.DEVICE_TO_DEVICE, 0, 1, 0, 2);
            copy(runner, CopyDirection.HOST_TO_DEVICE, 2, 8, 0, 1);
            batch.clear();
            batch.add(tokens, 10, 1, new int[] {8, 1}, 2, WITH_LOGPROB);
            runner.await(runner.submit(batch), output);
            assertThat(output.logprob(0)).isEqualTo(logprob);
        }
    }

    @Test
    void more_copies_than_go_in_one_call_are_all_made_and_wrong_ones_none() throws IOException {
        var settings = RunnerSettings.of(70, 8, 32, 4).withHostBlockCount(68).withKernelBlockSize(1);
        try (var runner = load(settings)) {
            var batch = runner.newInputBatch();
            var output = new StepOutput(4);
            batch.add(new int[] {9, 8, 7}, 0, 3, new int[] {69}, 1, WITH_LOGPROB);
            runner.await(runner.submit(batch), output);
            float logprob = output.logprob(0);
            var wrong = new BlockMapping(60);
            for (int host = 0; host < 59; host++) {
                wrong.add(0, 69);
            }
            wrong.add(1, 70);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> runner.copyBlocks(wrong, CopyDirection.DEVICE_TO_DEVICE))
                    .withMessage("target block: 70, takes 0 to 69");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> copy(runner, CopyDirection.HOST_TO_DEVICE, 68, 1))
                    .withMessage("source block: 68, takes 0 to 67");
            int[] away = new int[2 * 68];
            for (int host = 0; host < 68; host++) {
                away[2 * host] = 69;
                away[2 * host + 1] = host;
            }
            copy(runner, CopyDirection.DEVICE_TO_HOST, away);
            for (int host : new int[] {0, 31, 32, 67}) {
                copy(runner, CopyDirection.HOST_TO_DEVICE, host, 5);
                batch.clear();
                batch.add(new int[] {9, 8, 7}, 2, 1, new int[] {5}, 1, WITH_LOGPROB);
                runner.await(runner.submit(batch), output);
                assertThat(output.logprob(0)).isEqualTo(logprob);
                copy(runner, CopyDirection.DEVICE_TO_DEVICE, 0, 5);
            }
        }
    }

    private static void copy(ModelRunner runner, CopyDirection direction, int... pairs) {
        var mapping = new BlockMapping(pairs.length / 2);
        for (int i = 0; i < pairs.length; i += 2) {
            mapping.add(pairs[i], pairs[i + 1]);
        }
        runner.copyBlocks(mapping, direction);
    }

    @ParameterizedTest
    @CsvSource({"9, 0, 8, 3, 'kernel block size 3 does not divide block size 8'",
        "1, 0, 8, 8, 'block count is 1, takes 2 and above'",
        "9, -1, 8, 8, 'host block count is -1, takes 0 and above'",
        "9, 0, 8, 0, 'kernel block size is 0, takes 1 and above'"})
    void settings_that_contradict_each_other_are_refused(int blocks, int hostBlocks, int blockSize,
            int kernelBlockSize, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RunnerSettings(
                        blocks, hostBlocks, new StepSettings(blockSize, kernelBlockSize, 32, 4, 1)))
                .withMessage(message);
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
        try (var runner = load(SETTINGS.withKernelBlockSize(4))) {
            assertThat(runner.bytesPerBlock()).isEqualTo(2560);
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
