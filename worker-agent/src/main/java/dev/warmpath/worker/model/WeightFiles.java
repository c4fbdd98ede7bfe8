package dev.warmpath.worker.model;

import dev.warmpath.worker.model.weights.SafetensorsFile;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All {@code *.safetensors} files of a model directory as one set of tensors, and which of them were taken: a tensor
 * that nobody asked for means a model with a part that this worker would leave out.
 */
final class WeightFiles implements AutoCloseable {

    private final Path directory;
    private final List<SafetensorsFile> files = new ArrayList<>();
    private final Map<String, WeightTensor> untaken = new HashMap<>();

    private WeightFiles(Path directory) {
        this.directory = directory;
    }

    static WeightFiles open(Path directory) throws IOException {
        var opened = new WeightFiles(directory);
        try {
            opened.openAll();
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    private void openAll() throws IOException {
        try (var paths = Files.newDirectoryStream(directory, "*.safetensors")) {
            for (Path path : paths) {
                var file = SafetensorsFile.open(path);
                files.add(file);
                file.names().forEach(name -> index(name, file));
            }
        }
        if (files.isEmpty()) {
            throw new UnsupportedModelException(directory + " has no *.safetensors file");
        }
    }

    private void index(String name, SafetensorsFile file) {
        @Nullable WeightTensor tensor = file.find(name);
        if (tensor != null && untaken.put(name, tensor) != null) {
            throw new UnsupportedModelException("%s: tensor %s is in another file of this model too"
                    .formatted(file.path(), name));
        }
    }

    /** @throws UnsupportedModelException if there is no such tensor, or one of another shape */
    WeightTensor take(String name, List<Integer> shape) {
        WeightTensor tensor = untaken.remove(name);
        if (tensor == null || !tensor.shape().equals(shape)) {
            throw new UnsupportedModelException("%s: tensor %s is %s, takes shape %s".formatted(directory, name,
                    tensor == null ? "missing" : "of shape " + tensor.shape(), shape));
        }
        return tensor;
    }

    /** @param tiedEmbeddings allows a stored head, which is then a copy of the embedding */
    void requireAllTaken(boolean tiedEmbeddings) {
        Set<String> left = new HashSet<>(untaken.keySet());
        left.removeIf(name -> name.endsWith(".rotary_emb.inv_freq") || tiedEmbeddings && name.equals("lm_head.weight"));
        if (!left.isEmpty()) {
            throw new UnsupportedModelException("%s holds %d tensors that this worker has no use for, such as %s"
                    .formatted(directory, left.size(), left.iterator().next()));
        }
    }

    @Override
    public void close() {
        files.forEach(SafetensorsFile::close);
    }
}
