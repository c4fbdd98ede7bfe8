package dev.warmpath.worker.model;

import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFile;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * All files of a model's weights as one set of tensors, and which of them were taken: a tensor that nobody asked for
 * means a model with a part that this worker would leave out.
 */
final class WeightFiles implements AutoCloseable {

    private final Path model;
    private final List<WeightFile> files;
    private final Map<String, WeightTensor> untaken = new HashMap<>();

    private WeightFiles(Path model, List<WeightFile> files) {
        this.model = model;
        this.files = files;
    }

    static WeightFiles open(ModelSource source) throws IOException {
        var opened = new WeightFiles(source.path(), source.openWeights());
        try {
            opened.files.forEach(opened::index);
            return opened;
        } catch (RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    private void index(WeightFile file) {
        for (WeightTensor tensor : file.tensors()) {
            if (untaken.put(tensor.name(), tensor) != null) {
                throw new UnsupportedModelException("%s: tensor %s is in another file of this model too"
                        .formatted(file.path(), tensor.name()));
            }
        }
    }

    /** @throws UnsupportedModelException if there is no such tensor, or one of another shape */
    WeightTensor take(String name, List<Integer> shape) {
        WeightTensor tensor = untaken.remove(name);
        if (tensor == null || !tensor.shape().equals(shape)) {
            throw new UnsupportedModelException("%s: tensor %s is %s, takes shape %s".formatted(model, name,
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
                    .formatted(model, left.size(), left.iterator().next()));
        }
    }

    @Override
    public void close() {
        files.forEach(WeightFile::close);
    }
}
