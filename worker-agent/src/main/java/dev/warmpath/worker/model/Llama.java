package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.WeightLoader.Part;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/**
 * Llama: every layer alike, with rotary grouped-query attention and SwiGLU. Source: Touvron et al., arXiv 2302.13971
 * and 2307.09288; names, defaults and conventions as in transformers' LlamaConfig and modeling_llama.
 */
final class Llama {

    /** Values that the decoder uses. */
    private static final Set<String> UNDERSTOOD = Set.of("model_type", "hidden_act", "hidden_size",
            "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
            "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta", "rope_parameters",
            "tie_word_embeddings");

    /** Off in every model of the family that is served; any other value refuses the start. */
    private static final Set<String> MUST_BE_OFF = Set.of("rope_scaling", "sliding_window", "attention_bias",
            "mlp_bias", "quantization_config", "use_sliding_window");

    private Llama() {
    }

    static ModelConfig config(ConfigFile file) {
        file.requireKnown(UNDERSTOOD, MUST_BE_OFF);
        if (file.has("hidden_act") && !file.says("hidden_act", "silu")) {
            throw file.refused("hidden_act", "takes silu");
        }
        int hiddenSize = file.integer("hidden_size");
        int headCount = file.integer("num_attention_heads");
        int headSize = file.integer("head_dim", hiddenSize / Math.max(1, headCount));
        return new ModelConfig(ModelFamily.LLAMA, hiddenSize, layers(file.integer("num_hidden_layers"), headSize),
                headCount, file.integer("num_key_value_heads", headCount), headSize,
                file.integer("intermediate_size"), file.integer("vocab_size"),
                file.integer("max_position_embeddings"), (float) file.number("rms_norm_eps", 1e-6), file.ropeTheta(),
                file.bool("tie_word_embeddings"));
    }

    /** So many layers, all alike. Sizes that no model has are left to {@link ModelConfig} to refuse. */
    static List<AttentionSpec> layers(int count, int headSize) {
        return Collections.nCopies(Math.max(0, count), AttentionSpec.plain(Math.max(1, headSize)));
    }

    static DecoderSpec decoder(ModelConfig config, WeightLoader weights) {
        int hidden = config.hiddenSize();
        Tensor embedding = weights.matrix(hidden, new Part("model.embed_tokens.weight", config.vocabularySize()));
        Tensor rotary = weights.rotary(config.contextLength(), config.headSize(), config.ropeTheta());
        List<LayerSpec> layers = new ArrayList<>();
        for (int layer = 0; layer < config.layerCount(); layer++) {
            layers.add(layer(config, layer, rotary, weights));
        }
        Tensor head = config.tiedEmbeddings() ? embedding
                : weights.matrix(hidden, new Part("lm_head.weight", config.vocabularySize()));
        return new DecoderSpec(embedding, layers, weights.vector("model.norm.weight", hidden), head,
                config.normEpsilon());
    }

    private static LayerSpec layer(ModelConfig config, int index, Tensor rotary, WeightLoader weights) {
        String prefix = "model.layers.%d.".formatted(index);
        int hidden = config.hiddenSize();
        int queries = config.headCount() * config.headSize();
        int keys = config.kvHeadCount() * config.headSize();
        int wide = config.intermediateSize();
        return new LayerSpec(weights.vector(prefix + "input_layernorm.weight", hidden),
                weights.matrix(hidden, new Part(prefix + "self_attn.q_proj.weight", queries),
                        new Part(prefix + "self_attn.k_proj.weight", keys),
                        new Part(prefix + "self_attn.v_proj.weight", keys)),
                rotary, config.layers().get(index), config.placeOf(index),
                weights.matrix(queries, new Part(prefix + "self_attn.o_proj.weight", hidden)),
                weights.vector(prefix + "post_attention_layernorm.weight", hidden),
                weights.matrix(hidden, new Part(prefix + "mlp.gate_proj.weight", wide),
                        new Part(prefix + "mlp.up_proj.weight", wide)),
                weights.matrix(wide, new Part(prefix + "mlp.down_proj.weight", hidden)));
    }
}
