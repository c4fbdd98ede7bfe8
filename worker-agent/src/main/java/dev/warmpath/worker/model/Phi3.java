package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * Phi 3, 3.5 and 4: Llama's layers with fused weights, of which the first have a window, and some turn a part of each
 * head. Source: Abdin et al., arXiv 2404.14219 and 2412.08905; names and defaults as in transformers' Phi3Config.
 */
final class Phi3 {

    private Phi3() {
    }

    static ModelConfig config(ConfigFile file) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, new ModelSizes.Absent(0, 0, 1e-5, false));
        // of the kernels that it was trained with
        file.pass("full_attn_mod", "interpolate_factor");
        int window = file.integer("sliding_window", AttentionSpec.NO_WINDOW, AttentionSpec.NO_WINDOW);
        var layer = new LayerShape(sizes.attention(window), sizes.rotary(10_000).rotation());
        return sizes.model(ModelFamily.PHI3, sizes.layers(layer), StreamSpec.PLAIN);
    }
}
