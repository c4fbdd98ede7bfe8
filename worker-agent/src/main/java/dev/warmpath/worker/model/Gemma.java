package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * Gemma: Llama's layers with GeGLU, norms that are stored less 1 and embeddings times the root of their width. Gemma 2
 * norms what blocks make, too, caps scores and logits, and has a window in every other layer; Gemma 3 norms heads in
 * place of capping, and has a window in five layers of six, which turn faster. Source: Gemma team, arXiv 2403.08295,
 * 2408.00118 and 2503.19786; names and defaults as in transformers' GemmaConfig, Gemma2Config and Gemma3TextConfig.
 */
final class Gemma {

    private static final String TANH = "gelu_pytorch_tanh";

    private Gemma() {
    }

    static ModelConfig config(ConfigFile file) {
        // the first files say gelu and mean its tanh form, as transformers tells
        file.require("hidden_act", TANH, "gelu");
        requireIfNotNull(file, "hidden_activation");
        ModelSizes sizes = sizes(file, new ModelSizes.Absent(16, 256, 1e-6, true));
        var layer = new LayerShape(sizes.attention(AttentionSpec.NO_WINDOW), sizes.rotary(10_000).rotation());
        return sizes.model(ModelFamily.GEMMA, sizes.layers(layer), stream(sizes, StreamSpec.NO_CAP));
    }

    static ModelConfig config2(ConfigFile file) {
        ModelSizes sizes = laterSizes(file, ModelSizes.Rest.NOTHING);
        Rotation rotation = sizes.rotary(10_000).rotation();
        double scoreCap = cap(file, "attn_logit_softcapping", 50);
        List<LayerShape> layers = layers(sizes, layer -> layer % 2 == 0, scoreCap, rotation, rotation);
        return sizes.model(ModelFamily.GEMMA2, layers, stream(sizes, cap(file, "final_logit_softcapping", 30)));
    }

    static ModelConfig config3(ConfigFile file) {
        // files of models that see pictures leave these out
        ModelSizes sizes = laterSizes(file, new ModelSizes.Rest(8, 262_208, 131_072));
        RotaryConfig rotary = sizes.rotary(1_000_000);
        Rotation global = rotary.rotation("full_attention", "rope_theta", 1_000_000, true);
        Rotation local = rotary.rotation("sliding_attention", "rope_local_base_freq", 10_000, false);
        double scoreCap = cap(file, "attn_logit_softcapping", AttentionSpec.NO_CAP);
        int pattern = file.integer("sliding_window_pattern", file.integer("_sliding_window_pattern", 6, 6));
        List<LayerShape> layers = layers(sizes, layer -> (layer + 1) % pattern != 0, scoreCap, local, global);
        return sizes.model(ModelFamily.GEMMA3, layers,
                stream(sizes, cap(file, "final_logit_softcapping", StreamSpec.NO_CAP)));
    }

    /** Of Gemma 2 and 3. */
    private static ModelSizes laterSizes(ConfigFile file, ModelSizes.Rest rest) {
        file.require("hidden_activation", TANH);
        requireIfNotNull(file, "hidden_act");
        return sizes(file, new ModelSizes.Absent(4, 256, 1e-6, true, rest));
    }

    private static ModelSizes sizes(ConfigFile file, ModelSizes.Absent absent) {
        file.integer("num_key_value_heads", absent.kvHeadCount());      // in these classes null stands for nothing
        return ModelSizes.read(file, absent);
    }

    /** A key that the class does without. */
    private static void requireIfNotNull(ConfigFile file, String key) {
        if (file.has(key)) {
            file.require(key, TANH);
        }
    }

    private static double cap(ConfigFile file, String key, double absent) {
        return file.number(key, absent, AttentionSpec.NO_CAP);
    }

    /** @param rule which layers have a window, by their index, where the file does not say */
    private static List<LayerShape> layers(ModelSizes sizes, IntPredicate rule, double scoreCap, Rotation local,
            Rotation global) {
        ConfigFile file = sizes.file();
        int window = file.integer("sliding_window", 4096, AttentionSpec.NO_WINDOW);
        List<Boolean> windowed = sizes.windowed(window, rule);
        file.pass("sliding_window_size");
        double scale = 1 / Math.sqrt(file.number("query_pre_attn_scalar", 256));
        return sizes.layers(layer -> windowed.get(layer)
                ? new LayerShape(new AttentionSpec(scale, window, scoreCap, false), local)
                : new LayerShape(new AttentionSpec(scale, AttentionSpec.NO_WINDOW, scoreCap, false), global));
    }

    private static StreamSpec stream(ModelSizes sizes, double logitCap) {
        return new StreamSpec(Math.sqrt(sizes.hiddenSize()), 1, 1, logitCap);
    }
}
