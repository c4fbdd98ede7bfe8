package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.CacheShape;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The shape of a Llama-family model, as its {@code config.json} gives it.
 * @param hiddenSize       width of the hidden state
 * @param layerCount       decoder layers
 * @param headCount        query heads, a multiple of {@code kvHeadCount}
 * @param kvHeadCount      key/value heads
 * @param headSize         elements of one head, even
 * @param intermediateSize width of the feed-forward layer
 * @param vocabularySize   rows of the embedding
 * @param contextLength    positions the model was made for
 * @param normEpsilon      of the RMS norms
 * @param ropeTheta        base of the rotary angles
 * @param tiedEmbeddings   whether the head reuses the embedding
 */
public record ModelConfig(int hiddenSize, int layerCount, int headCount, int kvHeadCount, int headSize,
                          int intermediateSize, int vocabularySize, int contextLength, float normEpsilon,
                          double ropeTheta, boolean tiedEmbeddings) {

    public ModelConfig {
        if (hiddenSize < 1 || layerCount < 1 || kvHeadCount < 1 || headCount % kvHeadCount != 0 || headCount < 1
                || headSize < 2 || headSize % 2 != 0 || intermediateSize < 1 || vocabularySize < 1 || contextLength < 1
                || !(normEpsilon >= 0) || !(ropeTheta > 0)) {
            throw new UnsupportedModelException(("no model has hidden size %d, %d layers, %d heads over %d of size %d, "
                    + "intermediate size %d, %d tokens, context %d, epsilon %s, theta %s").formatted(hiddenSize,
                    layerCount, headCount, kvHeadCount, headSize, intermediateSize, vocabularySize, contextLength,
                    normEpsilon, ropeTheta));
        }
    }

    /**
     * @throws UnsupportedModelException naming key and value, if the file says anything that is not understood
     * @throws IOException if the file cannot be read
     */
    public static ModelConfig read(Path configFile) throws IOException {
        return new ModelConfigReader(configFile).read();
    }

    /** The same model, of which no sequence is taken further than this. */
    public ModelConfig withContextLength(int shorter) {
        return new ModelConfig(hiddenSize, layerCount, headCount, kvHeadCount, headSize, intermediateSize,
                vocabularySize, shorter, normEpsilon, ropeTheta, tiedEmbeddings);
    }

    public CacheShape cacheShape(int blockSize) {
        return new CacheShape(layerCount, kvHeadCount, headSize, blockSize);
    }

    /** Columns of the fused projection: queries, keys, values. */
    int qkvSize() {
        return (headCount + 2 * kvHeadCount) * headSize;
    }
}
