package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;

/**
 * Brings the tensors of a model's weight files onto the device, for the family that knows their names. Whatever is
 * missing, has another shape or is left over refuses the model.
 */
final class WeightLoader implements AutoCloseable {

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final WeightFiles files;
    private final ComputeBackend backend;

    private WeightLoader(WeightFiles files, ComputeBackend backend) {
        this.files = files;
        this.backend = backend;
    }

    /**
     * Loads a model whole.
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     */
    static DecoderSpec load(Path directory, ModelConfig config, ComputeBackend backend) throws IOException {
        try (var loader = new WeightLoader(WeightFiles.open(directory), backend)) {
            var decoder = config.family().decoder(config, loader);
            loader.files.requireAllTaken(config.tiedEmbeddings());
            return decoder;
        }
    }

    /** Rows of a matrix that are a tensor of their own in the file. */
    record Part(String name, int rows) {
    }

    /** A weight [rows of all parts, columns]: projections that read the same input are one matrix. */
    Tensor matrix(int columns, Part... parts) {
        int rows = 0;
        for (Part part : parts) {
            rows += part.rows();
        }
        Tensor weight = backend.allocateWeight(rows, columns);
        int firstRow = 0;
        for (Part part : parts) {
            WeightTensor source = files.take(part.name(), List.of(part.rows(), columns));
            backend.upload(weight, firstRow, part.rows(), source.type(), source.values());
            firstRow += part.rows();
        }
        return weight;
    }

    /** Of a norm: few and a plain tensor [1, size], turned into the activations' type here. */
    Tensor vector(String name, int size) {
        WeightTensor source = files.take(name, List.of(size));
        Tensor vector = backend.allocate(backend.activationType(), 1, size);
        try (var arena = Arena.ofConfined()) {
            backend.write(vector, converted(source, backend.activationType(), arena));
        }
        return vector;
    }

    /** @return see {@link RotaryTable} */
    Tensor rotary(int positions, int headSize, double theta) {
        return RotaryTable.create(positions, headSize, theta, backend);
    }

    private static MemorySegment converted(WeightTensor source, DataType wanted, Arena arena) {
        return source.type() == wanted ? source.values() : switch (wanted) {
            case F32 -> widened(source.values(), arena);
            case BF16 -> narrowed(source.values(), arena);
            case I32, I64 -> throw new IllegalArgumentException("no norm weights are " + wanted);
        };
    }

    private static MemorySegment widened(MemorySegment bf16, Arena arena) {
        long count = bf16.byteSize() / DataType.BF16.bytes();
        var floats = arena.allocate(ValueLayout.JAVA_FLOAT, count);
        for (long i = 0; i < count; i++) {
            floats.setAtIndex(ValueLayout.JAVA_FLOAT, i, Bf16.toFloat(bf16.getAtIndex(SHORT, i)));
        }
        return floats;
    }

    private static MemorySegment narrowed(MemorySegment floats, Arena arena) {
        long count = floats.byteSize() / DataType.F32.bytes();
        var bf16 = arena.allocate(ValueLayout.JAVA_SHORT, count);
        for (long i = 0; i < count; i++) {
            bf16.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.of(floats.getAtIndex(FLOAT, i)));
        }
        return bf16;
    }

    @Override
    public void close() {
        files.close();
    }
}
