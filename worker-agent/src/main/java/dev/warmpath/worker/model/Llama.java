package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * Llama, and what is built like it, such as SmolLM 2: every layer alike, with rotary grouped-query attention and
 * SwiGLU. Source: Touvron et al., arXiv 2302.13971 and 2307.09288; names, defaults and conventions as in transformers'
 * LlamaConfig and modeling_llama.
 */
final class Llama {

    private Llama() {
    }

    static ModelConfig config(ConfigFile file) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, ModelSizes.Absent.LLAMA);
        var layer = new LayerShape(sizes.attention(AttentionSpec.NO_WINDOW), sizes.rotary(10_000).rotation());
        return sizes.model(ModelFamily.LLAMA, sizes.layers(layer), StreamSpec.PLAIN);
    }
}
