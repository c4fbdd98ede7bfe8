package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WeightLoaderTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource(names = {"F32", "F16", "BF16"})
    void norms_reach_the_device_whatever_their_format(WeightFormat stored) throws IOException {
        var model = RandomLlama.create(7);
        model.write(directory, stored);
        try (var backend = new ScalarBackend()) {
            var decoder = WeightLoader.load(ModelSource.of(directory), model.config(), backend,
                    new WeightUpload(backend, Quantization.NONE, /* hasValues */ true, _ -> { }));
            assertThat(read(backend, decoder.finalNorm())).containsExactly(model.weights().get("model.norm.weight"));
            assertThat(read(backend, decoder.layers().get(1).attention().inputNorm()))
                    .containsExactly(model.weights().get("model.layers.1.input_layernorm.weight"));
        }
    }

    private static float[] read(ComputeBackend backend, Tensor norm) {
        try (var arena = Arena.ofConfined()) {
            var values = arena.allocate(ValueLayout.JAVA_FLOAT, norm.columns());
            backend.read(norm, 1, values);
            return values.toArray(ValueLayout.JAVA_FLOAT);
        }
    }
}
