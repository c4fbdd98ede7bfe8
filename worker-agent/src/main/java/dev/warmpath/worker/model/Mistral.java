package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * Mistral: Llama's layers, all with the same window or all without. Source: Jiang et al., arXiv 2310.06825; names and
 * defaults as in transformers' MistralConfig.
 */
final class Mistral {

    private Mistral() {
    }

    static ModelConfig config(ConfigFile file) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, new ModelSizes.Absent(8, 0, 1e-6, false));
        int window = file.integer("sliding_window", 4096, AttentionSpec.NO_WINDOW);
        var layer = new LayerShape(sizes.attention(window), sizes.rotary(10_000).rotation());
        return sizes.model(ModelFamily.MISTRAL, sizes.layers(layer), StreamSpec.PLAIN);
    }
}
