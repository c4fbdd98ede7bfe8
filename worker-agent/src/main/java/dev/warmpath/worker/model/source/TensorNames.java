package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.RowOrder;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Hugging Face's names of a GGUF file's tensors, and how their values lie there. One that has no such name keeps its
 * own, so that whoever takes all tensors finds it left over. Source: gguf-py, tensor_mapping.py.
 */
final class TensorNames {

    private static final Map<String, String> OUTSIDE = Map.of(
            "token_embd.weight", "model.embed_tokens.weight",
            "output_norm.weight", "model.norm.weight",
            "output.weight", "lm_head.weight");
    /** Of a layer, without {@code .weight} or {@code .bias}. */
    private static final Map<String, String> IN_LAYER = Map.ofEntries(
            Map.entry("attn_norm", "input_layernorm"),
            Map.entry("attn_q", "self_attn.q_proj"),
            Map.entry("attn_k", "self_attn.k_proj"),
            Map.entry("attn_v", "self_attn.v_proj"),
            Map.entry("attn_q_norm", "self_attn.q_norm"),
            Map.entry("attn_k_norm", "self_attn.k_norm"),
            Map.entry("attn_output", "self_attn.o_proj"),
            Map.entry("ffn_norm", "post_attention_layernorm"),
            Map.entry("ffn_gate", "mlp.gate_proj"),
            Map.entry("ffn_up", "mlp.up_proj"),
            Map.entry("ffn_down", "mlp.down_proj"));
    private static final Map<String, String> WITH_OUTPUT_NORMS = Map.of(
            "post_attention_norm", "post_attention_layernorm",
            "ffn_norm", "pre_feedforward_layernorm",
            "post_ffw_norm", "post_feedforward_layernorm");
    private static final Map<String, String> FUSED = Map.of(
            "attn_qkv", "self_attn.qkv_proj",
            "ffn_up", "mlp.gate_up_proj");
    private static final Set<String> QUERIES_AND_KEYS = Set.of("attn_q", "attn_k");
    /** What the configuration says already. */
    private static final Set<String> READ =
            Set.of(GgufConfig.FACTORS, GgufConfig.SHORT_FACTORS, GgufConfig.LONG_FACTORS);
    private static final Pattern LAYER = Pattern.compile("blk\\.(\\d{1,5})\\.([a-z_]+)\\.(weight|bias)");

    private final Map<String, String> inLayer = new HashMap<>(IN_LAYER);
    private final RowOrder queriesAndKeys;
    private final double addedToNorms;

    TensorNames(GgufArchitecture architecture, int headSize) {
        if (architecture.hasOutputNorms()) {
            inLayer.putAll(WITH_OUTPUT_NORMS);
        }
        if (architecture.isFused()) {
            inLayer.putAll(FUSED);
        }
        queriesAndKeys = architecture.turnsNeighbours() ? new RowOrder(headSize) : RowOrder.AS_STORED;
        addedToNorms = architecture.addedToNorms();
    }

    List<WeightTensor> of(List<WeightTensor> tensors) {
        return tensors.stream().filter(tensor -> !READ.contains(tensor.name())).map(this::of).toList();
    }

    private WeightTensor of(WeightTensor tensor) {
        Matcher layer = LAYER.matcher(tensor.name());
        if (layer.matches()) {
            return ofLayer(layer, tensor);
        }
        return tensor.named(OUTSIDE.getOrDefault(tensor.name(), tensor.name()), RowOrder.AS_STORED,
                added(tensor.name()));
    }

    private WeightTensor ofLayer(Matcher layer, WeightTensor tensor) {
        String part = inLayer.get(layer.group(2));
        String name = part == null ? tensor.name() : "model.layers.%d.%s.%s".formatted(
                Integer.parseInt(layer.group(1)), part, layer.group(3));
        return tensor.named(name, QUERIES_AND_KEYS.contains(layer.group(2)) ? queriesAndKeys : RowOrder.AS_STORED,
                added(layer.group(2) + "." + layer.group(3)));
    }

    private double added(String name) {
        return name.endsWith("norm.weight") ? addedToNorms : 0;
    }
}
