package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.GgufMetadata;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A config.json of what a GGUF file says under the name of its architecture. Every such key is one that is read here,
 * or refuses the file: one that is skipped in silence is how a model serves wrong text.
 */
final class GgufConfig {

    private static final String CONTEXT_LENGTH = "context_length";
    /** Factors of the rotation, of which Llama 3.1 has one list, and Phi 3 one for short and one for long contexts. */
    static final String FACTORS = "rope_freqs.weight";
    static final String SHORT_FACTORS = "rope_factors_short.weight";
    static final String LONG_FACTORS = "rope_factors_long.weight";

    private final GgufMetadata metadata;
    private final GgufArchitecture architecture;
    private final Map<String, WeightTensor> tensors;
    private final Set<String> read = new HashSet<>();
    private final ObjectNode config = JsonMapper.shared().createObjectNode();
    private final int headSize;

    /**
     * @param tensors under the file's names
     * @throws dev.warmpath.worker.model.weights.WeightFileException naming a key that is missing or unknown
     */
    GgufConfig(GgufMetadata metadata, List<WeightTensor> tensors) {
        this.metadata = metadata;
        this.architecture = GgufArchitecture.of(metadata);
        this.tensors = tensors.stream().collect(Collectors.toMap(WeightTensor::name, Function.identity(),
                (first, second) -> first));
        this.headSize = readHeadSize();
        putShape();
        putRotation();
        architecture.complete(this);
        refuseExperts();
        requireAllRead();
    }

    private int readHeadSize() {
        int perHead = count("embedding_length") / Math.max(1, count("attention.head_count"));
        int size = count("attention.key_length", perHead);
        if (count("attention.value_length", perHead) != size) {
            throw refused("attention.value_length", "is not attention.key_length, " + size);
        }
        return size;
    }

    private void putShape() {
        key("vocab_size");                                  // the embedding says it
        config.put("hidden_size", count("embedding_length"))
                .put("num_hidden_layers", layerCount())
                .put("num_attention_heads", count("attention.head_count"))
                .put("num_key_value_heads", count("attention.head_count_kv", count("attention.head_count")))
                .put("head_dim", headSize)
                .put("intermediate_size", count("feed_forward_length"))
                .put("vocab_size", vocabularySize())
                .put("max_position_embeddings", contextLength())
                .put("rms_norm_eps", metadata.number(key("attention.layer_norm_rms_epsilon")))
                .put("tie_word_embeddings", !hasTensor("output.weight"));
    }

    /** At most as many as there are tensors, so that nobody makes room for layers that do not exist. */
    private int layerCount() {
        int layers = count("block_count");
        if (layers > tensors.size()) {
            throw refused("block_count", "is %d, of a file of %d tensors".formatted(layers, tensors.size()));
        }
        return layers;
    }

    /** Rows of the embedding. */
    int vocabularySize() {
        WeightTensor embedding = tensors.get("token_embd.weight");
        if (embedding == null) {
            throw refused("vocab_size", "says nothing, for there is no tensor token_embd.weight");
        }
        return embedding.shape().getFirst();
    }

    private void putRotation() {
        config.put("rope_theta", number("rope.freq_base", 10_000));
        int turned = count("rope.dimension_count", headSize);
        if (turned != headSize && architecture.turnsNeighbours()) {
            throw refused("rope.dimension_count", "is %d, of heads of %d, all of whose rows lie in turns"
                    .formatted(turned, headSize));
        }
        if (turned != headSize) {
            double part = (double) turned / headSize;
            // a head's size times the part is cut to a whole number, which shall not be one less
            config.put("partial_rotary_factor", (int) (headSize * part) == turned ? part : Math.nextUp(part));
        }
        int original = count("rope.scaling.original_context_length", 0);
        key("rope.scaling.attn_factor");
        String type = metadata.text(key("rope.scaling.type"), "linear");
        double factor = number("rope.scaling.factor", number("rope.scale_linear", 1));
        if (hasTensor(FACTORS) || hasTensor(SHORT_FACTORS) || hasTensor(LONG_FACTORS)) {
            putFactors(factor, original);
        } else if ("yarn".equals(type)) {
            putYarn(factor, original);
        } else if ("linear".equals(type) && factor != 1) {
            config.putObject("rope_scaling").put("rope_type", "linear").put("factor", factor);
        } else if (factor != 1 || !Set.of("none", "linear").contains(type)) {
            throw refused("rope.scaling.type", "is %s with a factor of %s, and no tensor has factors"
                    .formatted(type, factor));
        }
    }

    /** Each frequency divided by a number of its own, whoever has worked these out. */
    private void putFactors(double factor, int original) {
        boolean two = !hasTensor(FACTORS);
        if (factor != 1 || two && original < 1 || !two && (hasTensor(SHORT_FACTORS) || hasTensor(LONG_FACTORS))) {
            throw refused("rope.scaling.factor", "is %s beside tensors of factors, or these are too many"
                    .formatted(factor));
        }
        ObjectNode scaling = config.putObject("rope_scaling").put("rope_type", "longrope");
        addFactors(scaling, "short_factor", two ? SHORT_FACTORS : FACTORS);
        addFactors(scaling, "long_factor", two ? LONG_FACTORS : FACTORS);
        if (two) {
            config.put("original_max_position_embeddings", original);
        }
        if (!two || metadata.has(key("rope.scaling.attn_factor"))) {
            scaling.put("attention_factor", number("rope.scaling.attn_factor", 1));
        }
    }

    private void addFactors(ObjectNode scaling, String key, String name) {
        WeightTensor tensor = tensors.get(name);
        if (tensor == null || tensor.shape().size() != 1 || tensor.shape().getFirst() > headSize) {
            throw refused("rope.scaling.type", "says nothing, for there is no tensor %s of up to %d factors"
                    .formatted(name, headSize));
        }
        var factors = new float[tensor.shape().getFirst()];
        tensor.format().widen(tensor.values(), 0, factors.length, factors);
        var list = scaling.putArray(key);
        for (float factor : factors) {
            list.add(Double.parseDouble(Float.toString(factor)));
        }
    }

    private void putYarn(double factor, int original) {
        ObjectNode scaling = config.putObject("rope_scaling").put("rope_type", "yarn").put("factor", factor);
        if (original > 0) {
            scaling.put("original_max_position_embeddings", original);
        }
        putIfThere(scaling, "beta_fast", "rope.scaling.yarn_beta_fast");
        putIfThere(scaling, "beta_slow", "rope.scaling.yarn_beta_slow");
        putIfThere(scaling, "attention_factor", "rope.scaling.yarn_attn_factor");
        if (number("rope.scaling.yarn_ext_factor", 1) != 1 || metadata.has(key("rope.scaling.attn_factor"))) {
            throw refused("rope.scaling.type", "is yarn, of a strength that is not taken");
        }
    }

    private void putIfThere(ObjectNode object, String name, String suffix) {
        if (metadata.has(key(suffix))) {
            object.put(name, number(suffix, 1));
        }
    }

    private void refuseExperts() {
        for (String suffix : List.of("expert_count", "expert_used_count")) {
            if (count(suffix, 0) != 0) {
                throw refused(suffix, "is %d: mixtures of experts are not served".formatted(count(suffix)));
            }
        }
    }

    private void requireAllRead() {
        if (architecture != GgufArchitecture.GRANITE) {
            key("rope.scaling.finetuned");                  // there, it says whether heads turn at all
        }
        for (String key : metadata.keys()) {
            if (architecture.isOwn(key) && !read.contains(key)) {
                throw metadata.refused(key, "is nothing that this worker understands");
            }
        }
    }

    private String key(String suffix) {
        String key = architecture.key(suffix);
        read.add(key);
        return key;
    }

    private int count(String suffix) {
        return metadata.count(key(suffix));
    }

    private RuntimeException refused(String suffix, String problem) {
        return metadata.refused(key(suffix), problem);
    }

    // ---- for the architecture

    int headSize() {
        return headSize;
    }

    /** @param suffix of a key that may be there */
    int count(String suffix, int absent) {
        return metadata.count(key(suffix), absent);
    }

    /** @param suffix of a key that may be there */
    double number(String suffix, double absent) {
        return metadata.number(key(suffix), absent);
    }

    /** Refuses another text; absent is all right. */
    void require(String suffix, String only) {
        String text = metadata.text(key(suffix), only);
        if (!only.equals(text)) {
            throw refused(suffix, "takes " + only);
        }
    }

    boolean hasTensor(String name) {
        return tensors.containsKey(name);
    }

    void put(String name, String value) {
        config.put(name, value);
    }

    void put(String name, int value) {
        config.put(name, value);
    }

    void put(String name, double value) {
        config.put(name, value);
    }

    void put(String name, boolean value) {
        config.put(name, value);
    }

    // ---- for the model

    int contextLength() {
        return count(CONTEXT_LENGTH);
    }

    TensorNames tensorNames() {
        return new TensorNames(architecture, headSize);
    }

    byte[] bytes() {
        return config.toPrettyString().getBytes(StandardCharsets.UTF_8);
    }
}
