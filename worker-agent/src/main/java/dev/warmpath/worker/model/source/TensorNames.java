package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.RowOrder;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Hugging Face's names of a GGUF file's tensors. One that has none keeps its own, so that whoever takes all tensors
 * finds it left over.
 */
final class TensorNames {

    private static final Map<String, String> OUTSIDE = Map.of(
            "token_embd.weight", "model.embed_tokens.weight",
            "output_norm.weight", "model.norm.weight",
            "output.weight", "lm_head.weight");
    /** Of a layer, without {@code .weight} or {@code .bias}. */
    private static final Map<String, String> IN_LAYER = Map.of(
            "attn_norm", "input_layernorm",
            "attn_q", "self_attn.q_proj",
            "attn_k", "self_attn.k_proj",
            "attn_v", "self_attn.v_proj",
            "attn_output", "self_attn.o_proj",
            "ffn_norm", "post_attention_layernorm",
            "ffn_gate", "mlp.gate_proj",
            "ffn_up", "mlp.up_proj",
            "ffn_down", "mlp.down_proj");
    private static final Pattern LAYER = Pattern.compile("blk\\.(\\d{1,5})\\.([a-z_]+)\\.(weight|bias)");

    private final Map<String, String> inLayer = new HashMap<>(IN_LAYER);
    private final RowOrder queriesAndKeys;

    TensorNames(GgufArchitecture architecture, int headSize) {
        queriesAndKeys = architecture.turnsNeighbours ? new RowOrder(headSize) : RowOrder.AS_STORED;
    }

    List<WeightTensor> of(List<WeightTensor> tensors) {
        return tensors.stream().map(tensor -> tensor.named(nameOf(tensor.name()), orderOf(tensor.name()))).toList();
    }

    private String nameOf(String name) {
        Matcher layer = LAYER.matcher(name);
        if (!layer.matches()) {
            return OUTSIDE.getOrDefault(name, name);
        }
        String part = inLayer.get(layer.group(2));
        return part == null ? name : "model.layers.%d.%s.%s".formatted(Integer.parseInt(layer.group(1)), part,
                layer.group(3));
    }

    private RowOrder orderOf(String name) {
        Matcher layer = LAYER.matcher(name);
        boolean turns = layer.matches() && (layer.group(2).equals("attn_q") || layer.group(2).equals("attn_k"));
        return turns ? queriesAndKeys : RowOrder.AS_STORED;
    }
}
