package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The shape of a model, as its {@code config.json} gives it.
 * @param family           says what its layers are made of
 * @param hiddenSize       width of the hidden state
 * @param layers           each decoder layer, in order
 * @param headCount        query heads, a multiple of {@code kvHeadCount}
 * @param kvHeadCount      key/value heads
 * @param headSize         elements of one head, even
 * @param intermediateSize width of the feed-forward layer
 * @param vocabularySize   rows of the embedding
 * @param contextLength    positions the model was made for
 * @param normEpsilon      of the RMS norms
 * @param stream           what happens between the layers' blocks
 * @param tiedEmbeddings   whether the head reuses the embedding
 */
public record ModelConfig(ModelFamily family, int hiddenSize, List<LayerShape> layers, int headCount,
                          int kvHeadCount, int headSize, int intermediateSize, int vocabularySize, int contextLength,
                          float normEpsilon, StreamSpec stream, boolean tiedEmbeddings) {

    public ModelConfig {
        layers = List.copyOf(layers);
        if (hiddenSize < 1 || layers.isEmpty() || kvHeadCount < 1 || headCount % kvHeadCount != 0 || headCount < 1
                || headSize < 2 || headSize % 2 != 0 || intermediateSize < 1 || vocabularySize < 1 || contextLength < 1
                || !(normEpsilon >= 0)) {
            throw new UnsupportedModelException(("no model has hidden size %d, %d layers, %d heads over %d of size %d, "
                    + "intermediate size %d, %d tokens, context %d, epsilon %s").formatted(hiddenSize,
                    layers.size(), headCount, kvHeadCount, headSize, intermediateSize, vocabularySize, contextLength,
                    normEpsilon));
        }
    }

    /**
     * @throws UnsupportedModelException telling all keys and values that are not understood
     * @throws IOException if the file cannot be read
     */
    public static ModelConfig read(Path configFile) throws IOException {
        return ModelFamily.config(ConfigFile.read(configFile));
    }

    /** Likewise, of a model whose config.json may be made of a GGUF file. */
    public static ModelConfig read(ModelSource source) throws IOException {
        ModelFile file = source.file(ModelSource.CONFIG);
        if (file == null) {
            throw new UnsupportedModelException(source.path() + " has no " + ModelSource.CONFIG);
        }
        return ModelFamily.config(ConfigFile.of(source.path().resolve(ModelSource.CONFIG), file.content()));
    }

    /** The same model, its windows and groups included, of which no sequence is taken further than this. */
    public ModelConfig withContextLength(int shorter) {
        return new ModelConfig(family, hiddenSize, layers, headCount, kvHeadCount, headSize, intermediateSize,
                vocabularySize, shorter, normEpsilon, stream, tiedEmbeddings);
    }

    public int layerCount() {
        return layers.size();
    }

    /**
     * What a layer's attention sees decides which blocks it keeps: layers of one window are a group of the cache, with
     * a block table of its own.
     * @return the window of each group, in order of the groups; {@link AttentionSpec#NO_WINDOW}, if any layer has
     *         none, comes first
     */
    public List<Integer> groupWindows() {
        return layers.stream().map(layer -> layer.attention().window()).distinct().sorted().toList();
    }

    LayerSpec.CachePlace placeOf(int layer) {
        int window = layers.get(layer).attention().window();
        long before = layers.subList(0, layer).stream().filter(other -> other.attention().window() == window).count();
        return new LayerSpec.CachePlace(groupWindows().indexOf(window), (int) before);
    }

    /** A block holds the keys and values of one group's layers; the largest group says how many those are. */
    public CacheShape cacheShape(int blockSize) {
        long most = 0;
        for (int window : groupWindows()) {
            most = Math.max(most, layers.stream().filter(layer -> layer.attention().window() == window).count());
        }
        return new CacheShape((int) most, kvHeadCount, headSize, blockSize);
    }
}
