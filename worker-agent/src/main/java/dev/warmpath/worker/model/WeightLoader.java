package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Brings the tensors of a model's weight files onto the device, for whoever knows their names. Whatever is
 * missing, has another shape or is left over refuses the model.
 */
final class WeightLoader implements AutoCloseable {

    private final WeightFiles files;
    private final ComputeBackend backend;
    private final WeightUpload upload;

    private WeightLoader(WeightFiles files, ComputeBackend backend, WeightUpload upload) {
        this.files = files;
        this.backend = backend;
        this.upload = upload;
    }

    /**
     * Loads a model whole.
     * @param upload to that backend
     * @throws IOException if a file cannot be read
     * @throws UnsupportedModelException if it is not a model that this worker can serve
     */
    static DecoderSpec load(ModelSource source, ModelConfig config, ComputeBackend backend, WeightUpload upload)
            throws IOException {
        try (var loader = new WeightLoader(WeightFiles.open(source), backend, upload)) {
            var decoder = new DecoderComposer(config, loader).compose();
            loader.files.requireAllTaken(config.tiedEmbeddings());
            return decoder;
        }
    }

    /** Rows of a matrix, or elements of a vector, that are a tensor of their own in the file. */
    record Part(String name, int rows) {
    }

    /** A table [rows, columns], such as the embedding, whose rows are looked up: they stay as they are stored. */
    Tensor table(int columns, Part part) {
        WeightTensor source = files.take(part.name(), List.of(part.rows(), columns));
        Tensor weight = backend.allocateWeight(columns, List.of(new StoredRows(source.format(), part.rows())));
        if (!upload.adopt(weight, List.of(source))) {
            upload.lookup(weight, source);
        }
        return weight;
    }

    /** A weight [rows of all parts, columns] of a linear layer: projections that read the same input are one matrix. */
    Tensor matrix(int columns, Part... parts) {
        // before anything is allocated: the configuration may claim any size, files hold what they hold
        List<WeightTensor> sources = Arrays.stream(parts)
                .map(part -> files.take(part.name(), List.of(part.rows(), columns))).toList();
        Tensor weight = backend.allocateWeight(columns, sources.stream().map(upload::linearRows).toList());
        if (upload.adopt(weight, sources)) {
            return weight;
        }
        int firstRow = 0;
        for (WeightTensor source : sources) {
            upload.linear(weight, firstRow, source);
            firstRow += source.shape().getFirst();
        }
        return weight;
    }

    /**
     * A plain tensor F32 [1, elements of all parts], such as a norm or a bias.
     * @param shift added to what the files hold
     * @param scale of what comes of that
     */
    Tensor vector(double shift, double scale, Part... parts) {
        List<WeightTensor> sources = Arrays.stream(parts)
                .map(part -> files.take(part.name(), List.of(part.rows()))).toList();
        int size = Arrays.stream(parts).mapToInt(Part::rows).sum();
        Tensor vector = backend.allocate(DataType.F32, 1, size);
        upload.vector(vector, sources, shift, scale);
        return vector;
    }

    /** @return see {@link RotaryTable} */
    Tensor rotary(Rotation rotation, int positions) {
        return RotaryTable.create(rotation, positions, backend);
    }

    @Override
    public void close() {
        files.close();
    }
}
