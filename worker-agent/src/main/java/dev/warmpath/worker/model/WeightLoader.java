package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Brings the tensors of a model's weight files onto the device, for the family that knows their names. Whatever is
 * missing, has another shape or is left over refuses the model.
 */
final class WeightLoader implements AutoCloseable {

    private final WeightFiles files;
    private final ComputeBackend backend;
    private final WeightUpload upload;

    private WeightLoader(WeightFiles files, ComputeBackend backend) {
        this.files = files;
        this.backend = backend;
        this.upload = new WeightUpload(backend);
    }

    /**
     * Loads a model whole.
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     */
    static DecoderSpec load(ModelSource source, ModelConfig config, ComputeBackend backend) throws IOException {
        try (var loader = new WeightLoader(WeightFiles.open(source), backend)) {
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
        // before anything is allocated: the configuration may claim any size, files hold what they hold
        List<WeightTensor> sources = Arrays.stream(parts)
                .map(part -> files.take(part.name(), List.of(part.rows(), columns))).toList();
        Tensor weight = backend.allocateWeight(Arrays.stream(parts).mapToInt(Part::rows).sum(), columns);
        int firstRow = 0;
        for (WeightTensor source : sources) {
            upload.matrix(weight, firstRow, source);
            firstRow += source.shape().getFirst();
        }
        return weight;
    }

    /** Of a norm: a plain tensor [1, size] of the activations' type. */
    Tensor vector(String name, int size) {
        WeightTensor source = files.take(name, List.of(size));
        Tensor vector = backend.allocate(backend.activationType(), 1, size);
        upload.vector(vector, source);
        return vector;
    }

    /** @return see {@link RotaryTable} */
    Tensor rotary(int positions, int headSize, double theta) {
        return RotaryTable.create(positions, headSize, theta, backend);
    }

    @Override
    public void close() {
        files.close();
    }
}
