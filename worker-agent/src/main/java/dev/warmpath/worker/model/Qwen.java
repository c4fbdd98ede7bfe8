package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import java.util.List;

/**
 * Qwen 2 and 2.5, Llama's layers with biases of queries, keys and values, and Qwen 3, with norms of heads instead.
 * Upper layers may have a window. Source: Qwen team, arXiv 2407.10671, 2412.15115 and 2505.09388; names and defaults
 * as in transformers' Qwen2Config and Qwen3Config.
 */
final class Qwen {

    private Qwen() {
    }

    static ModelConfig config(ConfigFile file) {
        return config(file, ModelFamily.QWEN2, /* headSize */ 0);
    }

    static ModelConfig config3(ConfigFile file) {
        return config(file, ModelFamily.QWEN3, /* headSize */ 128);
    }

    private static ModelConfig config(ConfigFile file, ModelFamily family, int absentHeadSize) {
        file.require("hidden_act", "silu");
        ModelSizes sizes = ModelSizes.read(file, new ModelSizes.Absent(32, absentHeadSize, 1e-6, false));
        Rotation rotation = sizes.rotary(10_000).rotation();
        int window = window(file);
        int firstWindowed = window == AttentionSpec.NO_WINDOW ? sizes.layerCount()
                : file.integerFrom(0, "max_window_layers", 28);
        List<Boolean> windowed = sizes.windowed(window, layer -> layer >= firstWindowed);
        return sizes.model(family, sizes.layers(layer -> new LayerShape(
                sizes.attention(windowed.get(layer) ? window : AttentionSpec.NO_WINDOW), rotation)), StreamSpec.PLAIN);
    }

    /** Files name a window, and where it begins, that is not used. */
    private static int window(ConfigFile file) {
        int window = file.bool("use_sliding_window", false)
                ? file.integer("sliding_window", 4096, AttentionSpec.NO_WINDOW) : AttentionSpec.NO_WINDOW;
        if (window == AttentionSpec.NO_WINDOW) {
            file.pass("sliding_window", "max_window_layers");
        }
        return window;
    }
}
