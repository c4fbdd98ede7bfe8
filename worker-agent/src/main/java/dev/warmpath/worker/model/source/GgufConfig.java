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

    /** Say nothing that the tensors do not, or what no arithmetic depends on. */
    private static final Set<String> HARMLESS = Set.of("vocab_size", "rope.scaling.finetuned");

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
        HARMLESS.forEach(this::key);
        this.headSize = headSize();
        putShape();
        putRotation();
        requireAllRead();
    }

    private int headSize() {
        int perHead = count("embedding_length") / Math.max(1, count("attention.head_count"));
        int size = count("attention.key_length", perHead);
        if (count("attention.value_length", perHead) != size) {
            throw refused("attention.value_length", "is not attention.key_length, " + size);
        }
        return size;
    }

    private void putShape() {
        config.put("model_type", architecture.modelType)
                .put("hidden_act", "silu")
                .put("hidden_size", count("embedding_length"))
                .put("num_hidden_layers", layerCount())
                .put("num_attention_heads", count("attention.head_count"))
                .put("num_key_value_heads", count("attention.head_count_kv", count("attention.head_count")))
                .put("head_dim", headSize)
                .put("intermediate_size", count("feed_forward_length"))
                .put("vocab_size", vocabularySize())
                .put("max_position_embeddings", contextLength())
                .put("rms_norm_eps", metadata.number(key("attention.layer_norm_rms_epsilon")))
                .put("tie_word_embeddings", !tensors.containsKey("output.weight"))
                .put("attention_bias", tensors.containsKey("blk.0.attn_q.bias"))
                .put("mlp_bias", tensors.containsKey("blk.0.ffn_up.bias"));
    }

    /** At most as many as there are tensors, so that nobody makes room for layers that do not exist. */
    private int layerCount() {
        int layers = count("block_count");
        if (layers > tensors.size()) {
            throw refused("block_count", "is %d, of a file of %d tensors".formatted(layers, tensors.size()));
        }
        return layers;
    }

    private int vocabularySize() {
        WeightTensor embedding = tensors.get("token_embd.weight");
        if (embedding == null) {
            throw refused("vocab_size", "says nothing, for there is no tensor token_embd.weight");
        }
        return embedding.shape().getFirst();
    }

    private void putRotation() {
        config.put("rope_theta", number("rope.freq_base", 10_000));
        int turned = count("rope.dimension_count", headSize);
        if (turned != headSize) {
            config.put("partial_rotary_factor", (double) turned / headSize);
        }
    }

    private void requireAllRead() {
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

    private int count(String suffix, int absent) {
        return metadata.count(key(suffix), absent);
    }

    private double number(String suffix, double absent) {
        return metadata.number(key(suffix), absent);
    }

    private RuntimeException refused(String suffix, String problem) {
        return metadata.refused(key(suffix), problem);
    }

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
