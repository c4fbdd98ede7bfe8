package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.IdentityHashMap;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WeightLoaderTest {

    private record Shape(DataType type, int rows, int columns) implements Tensor {}

    /** Norms are the only plain tensors that loading writes. */
    private final Map<Tensor, float[]> written = new IdentityHashMap<>();

    @TempDir
    private Path directory;

    private ComputeBackend device(DataType activationType) {
        return (ComputeBackend) Proxy.newProxyInstance(WeightLoaderTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> switch (method.getName()) {
                    case "activationType" -> activationType;
                    case "allocate" -> new Shape((DataType) arguments[0], (int) arguments[1], (int) arguments[2]);
                    case "allocateWeight" -> new Shape(activationType, (int) arguments[0], (int) arguments[1]);
                    case "write" -> ((Tensor) arguments[0]).rows() > 1 ? null      // the rotary table
                            : written.put((Tensor) arguments[0], floats(activationType, arguments[1]));
                    case "upload" -> null;
                    default -> throw new IllegalStateException(method.getName());
                });
    }

    private static float[] floats(DataType type, Object values) {
        var segment = (MemorySegment) values;
        float[] floats = new float[(int) segment.byteSize() / type.bytes()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = type == DataType.F32 ? segment.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i)
                    : Bf16.toFloat(segment.getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i));
        }
        return floats;
    }

    @ParameterizedTest
    @CsvSource({"BF16, F32", "BF16, BF16", "F32, F32", "F32, BF16"})
    void norms_reach_the_device_in_the_type_of_its_activations(DataType stored, DataType wanted) throws IOException {
        var model = RandomLlama.create(7);
        model.write(directory, stored);
        var weights = WeightLoader.load(directory, model.config(), device(wanted));
        assertThat(written).hasSize(2 * 2 + 1);
        assertThat(weights.finalNorm().type()).isEqualTo(wanted);
        assertThat(written.get(weights.finalNorm())).containsExactly(model.weights().get("model.norm.weight"));
        assertThat(written.get(weights.layers().get(1).inputNorm()))
                .containsExactly(model.weights().get("model.layers.1.input_layernorm.weight"));
    }
}
