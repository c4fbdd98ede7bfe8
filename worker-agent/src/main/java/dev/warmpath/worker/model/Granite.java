package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * Granite 3: Llama's layers, with multipliers of embeddings, of what blocks add, of attention and of logits. Source:
 * IBM Granite team, Granite 3.0 language models (2024); names and defaults as in transformers' GraniteConfig.
 */
final class Granite {

    private Granite() {
    }

    static ModelConfig config(ConfigFile file) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, ModelSizes.Absent.LLAMA);
        var attention = new AttentionSpec(file.number("attention_multiplier", 1), AttentionSpec.NO_WINDOW,
                AttentionSpec.NO_CAP, false);
        var stream = new StreamSpec(file.number("embedding_multiplier", 1), file.number("residual_multiplier", 1),
                1 / file.number("logits_scaling", 1), StreamSpec.NO_CAP);
        return sizes.model(ModelFamily.GRANITE,
                sizes.layers(new LayerShape(attention, sizes.rotary(10_000).rotation())), stream);
    }
}
