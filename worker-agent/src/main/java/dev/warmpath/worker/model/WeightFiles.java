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
import java.util.Optional;
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
            opened.nameTextPart();
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

    /**
     * A model that sees pictures, too, has a text part whose tensors are named like those of a model by itself, behind a
     * prefix. The rest is left out.
     */
    private void nameTextPart() {
        for (TextPart part : TextPart.values()) {
            if (untaken.containsKey(part.prefix + "embed_tokens.weight")) {
                Map<String, WeightTensor> all = Map.copyOf(untaken);
                untaken.clear();
                all.forEach((name, tensor) -> part.nameOf(name).ifPresent(plain -> {
                    if (untaken.put(plain, tensor) != null) {
                        throw new UnsupportedModelException("two tensors of this model are its text part's %s, one of "
                                + "them named %s".formatted(plain, name));
                    }
                }));
            }
        }
    }

    /** How transformers 4 and 5 name the parts of a model that sees pictures. */
    private enum TextPart {
        FOUR("language_model.model.", "language_model.", List.of("vision_tower.", "multi_modal_projector.")),
        FIVE("model.language_model.", "", List.of("model.vision_tower.", "model.multi_modal_projector."));

        private static final String PLAIN = "model.";
        private final String prefix;
        private final String headPrefix;
        private final List<String> ofPictures;

        TextPart(String prefix, String headPrefix, List<String> ofPictures) {
            this.prefix = prefix;
            this.headPrefix = headPrefix;
            this.ofPictures = ofPictures;
        }

        /** Empty if it belongs to the part that sees. */
        Optional<String> nameOf(String name) {
            if (ofPictures.stream().anyMatch(name::startsWith)) {
                return Optional.empty();
            }
            return Optional.of(name.startsWith(prefix) ? PLAIN + name.substring(prefix.length())
                    : name.substring(name.startsWith(headPrefix) ? headPrefix.length() : 0));
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
