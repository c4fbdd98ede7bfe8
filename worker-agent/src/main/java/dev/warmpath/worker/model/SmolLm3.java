package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import java.util.List;
import java.util.stream.IntStream;

/**
 * SmolLM 3: Llama's layers, of which every fourth does not know positions. Source: Bakouch et al., SmolLM3 (2025);
 * names and defaults as in transformers' SmolLM3Config.
 */
final class SmolLm3 {

    private SmolLm3() {
    }

    static ModelConfig config(ConfigFile file) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, new ModelSizes.Absent(4, 0, 1e-6, true));
        Rotation rotation = sizes.rotary(2_000_000).rotation();
        List<Integer> turns = turns(file, sizes.layerCount());
        int window = file.bool("use_sliding_window", false)
                ? file.integer("sliding_window", AttentionSpec.NO_WINDOW, AttentionSpec.NO_WINDOW)
                : AttentionSpec.NO_WINDOW;
        file.pass("sliding_window", "max_window_layers");
        List<Boolean> windowed = sizes.windowed(window,
                layer -> turns.get(layer) == 0 && window != AttentionSpec.NO_WINDOW);
        return sizes.model(ModelFamily.SMOLLM3, sizes.layers(layer -> new LayerShape(
                sizes.attention(windowed.get(layer) ? window : AttentionSpec.NO_WINDOW),
                turns.get(layer) == 0 ? Rotation.NONE : rotation)), StreamSpec.PLAIN);
    }

    /** @return for each layer: whether it turns its heads, 1, or not, 0 */
    private static List<Integer> turns(ConfigFile file, int layerCount) {
        int interval = file.integer("no_rope_layer_interval", 4);
        List<Integer> turns = file.integers("no_rope_layers");
        if (!turns.isEmpty() && turns.size() == layerCount) {
            return turns;
        }
        if (!turns.isEmpty()) {
            file.refuse("no_rope_layers", "takes 0 or 1 for each of %d layers".formatted(layerCount));
        }
        return IntStream.range(0, layerCount).mapToObj(layer -> (layer + 1) % interval == 0 ? 0 : 1).toList();
    }
}
