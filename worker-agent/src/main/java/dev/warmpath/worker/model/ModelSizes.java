package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The sizes that every family's configuration has, under the names that they share.
 *
 * @param file the rest of which the family reads
 */
record ModelSizes(ConfigFile file, int hiddenSize, int layerCount, int headCount, int kvHeadCount, int headSize,
                  int intermediateSize, int vocabularySize, int contextLength, float normEpsilon,
                  boolean tiedEmbeddings) {

    private static final int MOST_LAYERS = 1_000;
    /** Four times what any family has; products of it and numbers of heads stay whole numbers of 32 bits. */
    private static final int MOST_HEAD_SIZE = 1024;
    private static final String SLIDING = "sliding_attention";
    private static final Set<String> LAYER_TYPES = Set.of("full_attention", SLIDING);

    /**
     * What a family's class in transformers says of keys that a file leaves out.
     * @param kvHeadCount 0: as many as there are query heads, which is what null means in any case
     * @param headSize    0: the hidden state shared out among the query heads, which is what null means then
     * @param rest        what files of most families do not leave out
     */
    record Absent(int kvHeadCount, int headSize, double normEpsilon, boolean tiedEmbeddings, Rest rest) {

        static final Absent LLAMA = new Absent(0, 0, 1e-6, false);

        Absent(int kvHeadCount, int headSize, double normEpsilon, boolean tiedEmbeddings) {
            this(kvHeadCount, headSize, normEpsilon, tiedEmbeddings, Rest.NOTHING);
        }
    }

    /** Each 0 where a file has to say it. */
    record Rest(int headCount, int vocabularySize, int contextLength) {

        static final Rest NOTHING = new Rest(0, 0, 0);
    }

    static ModelSizes read(ConfigFile file, Absent absent) {
        int hidden = file.integer("hidden_size");
        int layers = file.integer("num_hidden_layers");
        if (layers > MOST_LAYERS) {
            file.refuse("num_hidden_layers", "takes at most " + MOST_LAYERS);
            layers = 1;
        }
        int heads = integer(file, "num_attention_heads", absent.rest().headCount());
        int shared = Math.max(1, hidden / heads);
        int headSize = absent.headSize() == 0 ? file.integer("head_dim", shared, shared)
                : file.integer("head_dim", absent.headSize());
        // one that follows from the hidden size is as sound as that, which the embedding's shape will show
        if (headSize > MOST_HEAD_SIZE && headSize != shared) {
            file.refuse("head_dim", "takes at most " + MOST_HEAD_SIZE);
        }
        return new ModelSizes(file, hidden, layers, heads,
                file.integer("num_key_value_heads", absent.kvHeadCount() == 0 ? heads : absent.kvHeadCount(), heads),
                headSize, file.integer("intermediate_size"),
                integer(file, "vocab_size", absent.rest().vocabularySize()),
                integer(file, "max_position_embeddings", absent.rest().contextLength()),
                (float) file.number("rms_norm_eps", absent.normEpsilon()),
                file.bool("tie_word_embeddings", absent.tiedEmbeddings()));
    }

    private static int integer(ConfigFile file, String key, int absent) {
        return absent == 0 ? file.integer(key) : file.integer(key, absent);
    }

    /** What the file says of rotation. @param theta of the family, where it says nothing */
    RotaryConfig rotary(double theta) {
        return new RotaryConfig(file, headSize, theta, contextLength);
    }

    /** So many layers, all alike. */
    List<LayerShape> layers(LayerShape layer) {
        return Collections.nCopies(layerCount, layer);
    }

    /** @param layer of an index */
    List<LayerShape> layers(IntFunction<LayerShape> layer) {
        return IntStream.range(0, layerCount).mapToObj(layer).toList();
    }

    /** Attention as most models have it, but for a window. @param window {@link AttentionSpec#NO_WINDOW} is none */
    AttentionSpec attention(int window) {
        return new AttentionSpec(1 / Math.sqrt(headSize), window, AttentionSpec.NO_CAP, false);
    }

    /**
     * Which layers see a window only: what {@code layer_types} says of each, or else the family's rule.
     * @param window that they see; {@link AttentionSpec#NO_WINDOW} refuses a model that has such layers
     * @param rule   of a layer's index
     */
    List<Boolean> windowed(int window, IntPredicate rule) {
        List<Boolean> windowed = windowed(rule);
        if (window == AttentionSpec.NO_WINDOW && windowed.contains(true)) {
            file.refuse("sliding_window", "not in use, but layers have one");
        }
        return windowed;
    }

    private List<Boolean> windowed(IntPredicate rule) {
        List<String> types = file.texts("layer_types");
        if (types.isEmpty()) {
            return IntStream.range(0, layerCount).mapToObj(rule::test).toList();
        }
        if (types.size() != layerCount || !LAYER_TYPES.containsAll(types)) {
            file.refuse("layer_types", "takes full_attention or sliding_attention for each of %d layers"
                    .formatted(layerCount));
            return Collections.nCopies(layerCount, false);
        }
        return types.stream().map(SLIDING::equals).toList();
    }

    /**
     * A window that hides nothing in the context that the model was made for is none. One that hides nothing only in a
     * context that is capped stays: what is announced, and how blocks are shared, is then as without the cap.
     * @throws UnsupportedModelException telling all that was refused, now that everything has been read
     */
    ModelConfig model(ModelFamily family, List<LayerShape> layers, StreamSpec stream) {
        file.requireSound();
        int context = layers.stream().mapToInt(layer -> layer.rotation().scaling().contextLength(contextLength)).max()
                .orElse(contextLength);
        List<LayerShape> shapes = layers.stream().map(layer -> layer.in(context)).toList();
        return new ModelConfig(family, hiddenSize, shapes, headCount, kvHeadCount, headSize, intermediateSize,
                vocabularySize, context, normEpsilon, stream, tiedEmbeddings);
    }
}
