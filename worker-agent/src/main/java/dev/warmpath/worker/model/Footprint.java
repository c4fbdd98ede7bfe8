package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a model takes beside its cache, before a byte of its weights is read: it is loaded with everything but their
 * values, on a backend that only adds up what it is asked for. So whatever refuses a load is found here as well, a
 * tensor that is missing or has another shape, and nothing has to be calculated twice.
 *
 * <p>What grows with the context, such as the table of rotary angles, grows by the token: two contexts tell of all
 * others.
 *
 * @param shortContext tokens of the first one
 * @param small        bytes at each place with that one
 * @param large        bytes with twice as many tokens
 * @param fileBytes    of all weights, as files have them
 * @param recipe       lines that say which tensors come where, in which order and format: loads that have it and their
 *                     files in common fill weights with the same values
 */
public record Footprint(int shortContext, Map<MemoryPlace, Long> small, Map<MemoryPlace, Long> large, long fileBytes,
        String recipe) {

    /** Tokens; few, since the angles of these are calculated, and as many as whole blocks of any size. */
    private static final int SHORT_CONTEXT = 1_024;

    /**
     * @param config       of this model
     * @param quantization of its linear layers
     * @param backend      asked what its tensors take, and not changed
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a weight file is broken
     */
    public static Footprint of(ModelSource source, ModelConfig config, Quantization quantization,
            ComputeBackend backend, StepSettings settings) throws IOException {
        var small = new Measure(backend, quantization);
        var large = new Measure(backend, quantization);
        small.load(source, config.withContextLength(SHORT_CONTEXT), settings);
        large.load(source, config.withContextLength(2 * SHORT_CONTEXT), settings);
        return new Footprint(SHORT_CONTEXT, Map.copyOf(small.bytes), Map.copyOf(large.bytes), small.fileBytes,
                small.recipe.toString());
    }

    /** Bytes at a place, of a model whose sequences have so many tokens at most. */
    public long bytes(MemoryPlace place, int contextLength) {
        long first = small.getOrDefault(place, 0L);
        double perToken = (double) (large.getOrDefault(place, 0L) - first) / shortContext;
        return first + (long) Math.ceil(perToken * (contextLength - shortContext));
    }

    /** Stands for a backend while a model is loaded; what no load calls is not answered. */
    private static final class Measure {

        private final ComputeBackend backend;
        private final Quantization quantization;
        private final MemoryPlace tensorPlace;
        private final Map<MemoryPlace, Long> bytes = new EnumMap<>(MemoryPlace.class);
        private final StringBuilder recipe = new StringBuilder();
        private long fileBytes;
        private long besideWeights;

        private record Handle(DataType type, int rows, int columns) implements Tensor {}

        Measure(ComputeBackend backend, Quantization quantization) {
            this.backend = backend;
            this.quantization = quantization;
            this.tensorPlace = backend.freeMemory().isPresent() ? MemoryPlace.DEVICE : MemoryPlace.HEAP;
        }

        void load(ModelSource source, ModelConfig config, StepSettings settings) throws IOException {
            var counting = (ComputeBackend) Proxy.newProxyInstance(Footprint.class.getClassLoader(),
                    new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> answer(method, arguments));
            LoadedModel.load(source, config, counting, settings,
                    new WeightUpload(counting, quantization, /* hasValues */ false, this::took));
            bytes.merge(backend.weightPlace(), besideWeights, Math::addExact);
        }

        private void took(WeightTensor tensor) {
            fileBytes += tensor.values().byteSize();
            note("from", tensor.name(), tensor.format(), tensor.shape(), tensor.order());
        }

        private void note(Object... facts) {
            recipe.append(Arrays.toString(facts)).append('\n');
        }

        @SuppressWarnings("unchecked")   // the types are those of the seam's methods
        private @Nullable Object answer(Method method, Object[] arguments) {
            return switch (method.getName()) {
                case "activationType" -> backend.activationType();
                case "allocate" -> tensor((DataType) arguments[0], (int) arguments[1], (int) arguments[2]);
                case "allocateWeight" -> weight((int) arguments[0], (List<StoredRows>) arguments[1]);
                case "upload" -> add((Tensor) arguments[0], (int) arguments[2], (WeightFormat) arguments[3]);
                case "write", "close" -> null;
                default -> throw new IllegalStateException("nothing is known of a load that calls " + method);
            };
        }

        private Tensor weight(int columns, List<StoredRows> stored) {
            besideWeights = Math.max(besideWeights, backend.bytesBesideWeights(stored));
            int rows = stored.stream().mapToInt(StoredRows::count).sum();
            note("weight", rows, columns);
            return new Handle(backend.activationType(), rows, columns);
        }

        private Tensor tensor(DataType type, int rows, int columns) {
            bytes.merge(tensorPlace, (long) rows * columns * type.bytes(), Math::addExact);
            return new Handle(type, rows, columns);
        }

        private @Nullable Object add(Tensor weight, int rows, WeightFormat format) {
            bytes.merge(backend.weightPlace(), backend.weightBytes(format, rows, weight.columns()), Math::addExact);
            note("as", format, rows);
            return null;
        }
    }
}
