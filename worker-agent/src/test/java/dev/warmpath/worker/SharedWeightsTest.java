package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.Footprint;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.Quantization;
import dev.warmpath.worker.model.StepSettings;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;

/** The name under which weights are shared, of copies of the small model that tests have. */
@EnabledOnOs(OS.LINUX)
class SharedWeightsTest {

    private static final Path MODEL = Path.of("../models/warmpath-tiny");

    @TempDir
    private Path folder;
    private Path weights;

    @BeforeEach
    void copy() throws IOException {
        try (Stream<Path> files = Files.list(MODEL)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.copy(file, folder.resolve(file.getFileName()));
            }
        }
        weights = ModelSource.of(folder).weightFiles().getFirst();
    }

    @Test
    void the_same_files_have_the_same_name_whatever_is_asked_for_beside() throws IOException {
        String name = name(Quantization.NONE);

        assertThat(name).matches("[0-9a-f]{64}").isEqualTo(name(Quantization.NONE));
        try (var backend = new VectorBackend(2)) {
            assertThat(SharedWeights.name(start(Quantization.NONE, backend).withContextLength(256))).isEqualTo(name);
        }
    }

    @Test
    void other_rounding_is_another_name() throws IOException {
        assertThat(name(Quantization.INT8)).isNotEqualTo(name(Quantization.NONE));
    }

    @Test
    void other_values_of_the_same_size_and_time_are_another_name() throws IOException {
        String name = name(Quantization.NONE);
        FileTime time = Files.getLastModifiedTime(weights);
        byte[] content = Files.readAllBytes(weights);
        content[content.length - 1] ^= 1;
        Files.write(weights, content);
        Files.setLastModifiedTime(weights, time);

        assertThat(name(Quantization.NONE)).isNotEqualTo(name);
    }

    /** The recipe tells what becomes of a layer whose tensors have changed places. */
    @Test
    void tensors_in_other_places_are_another_recipe() throws IOException {
        try (var backend = new VectorBackend(1)) {
            String recipe = start(Quantization.NONE, backend).footprint().recipe();
            assertThat(recipe).contains("model.layers.0.self_attn.q_proj.weight", "model.layers.5.mlp.down_proj.weight")
                    .containsSubsequence("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj");
        }
    }

    @Test
    void weights_that_were_replaced_while_they_were_read_are_not_shared() throws Exception {
        Path shared = folder.resolve("shared");
        try (var backend = new VectorBackend(1)) {
            Preflight.Ready start = start(Quantization.NONE, backend);
            SharedWeights sharing = SharedWeights.use(shared, start);
            Files.setLastModifiedTime(weights, FileTime.fromMillis(1));
            sharing.publish();

            assertThat(shared).as("nothing is shared, and nobody is kept waiting")
                    .isDirectoryNotContaining("glob:**.panels").isDirectoryNotContaining("glob:**.part");
            try (var next = new VectorBackend(1)) {
                Preflight.Ready other = start(Quantization.NONE, next);
                assertThat(CompletableFuture.supplyAsync(() -> SharedWeights.use(shared, other))
                        .get(1, TimeUnit.MINUTES)).isNotNull();
            }
        }
    }

    @Test
    void what_keeps_weights_from_being_shared_is_a_clause() throws IOException {
        try (var backend = new ScalarBackend()) {
            assertThat(SharedWeights.lack(folder.resolve("shared"), start(Quantization.NONE, backend)))
                    .isEqualTo("backend scalar cannot share weights here");
        }
        try (var backend = new VectorBackend(1)) {
            assertThat(SharedWeights.lack(folder.resolve("shared"), start(Quantization.NONE, backend))).isNull();
        }
    }

    private String name(Quantization quantization) throws IOException {
        try (var backend = new VectorBackend(1)) {
            return SharedWeights.name(start(quantization, backend));
        }
    }

    private Preflight.Ready start(Quantization quantization, ComputeBackend backend) throws IOException {
        ModelSource source = ModelSource.of(folder);
        ModelConfig config = ModelConfig.read(source);
        var scheduler = new Binder().bindOrCreate("warmpath.scheduler", SchedulerProperties.class).toSettings(false);
        var steps = new StepSettings(16, 16, scheduler.maxBatchedTokens(), scheduler.maxSequences(),
                scheduler.maxStepsInFlight());
        return new Preflight.Ready(source, config, false, quantization, backend, scheduler, steps,
                Footprint.of(source, config, quantization, backend, steps));
    }
}
