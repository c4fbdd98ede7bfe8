package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.QkvSpec;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.WeightLoader.Part;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Composes a decoder of a model's weights as its family's anatomy says, by the names that transformers gives them. */
final class DecoderComposer {

    private final ModelConfig config;
    private final Anatomy anatomy;
    private final WeightLoader weights;
    private final Map<Rotation, Tensor> rotaryTables = new HashMap<>();

    DecoderComposer(ModelConfig config, WeightLoader weights) {
        this.config = config;
        this.anatomy = config.family().anatomy();
        this.weights = weights;
    }

    /** @throws UnsupportedModelException if a tensor is missing or has another shape */
    DecoderSpec compose() {
        int hidden = config.hiddenSize();
        Tensor embedding = weights.table(hidden, new Part("model.embed_tokens.weight", config.vocabularySize()));
        var layers = IntStream.range(0, config.layerCount()).mapToObj(this::layer).toList();
        Tensor head = config.tiedEmbeddings() ? embedding
                : weights.matrix(hidden, new Part("lm_head.weight", config.vocabularySize()));
        Tensor finalNorm = weights.vector(shift(), config.stream().logitScale(), new Part("model.norm.weight", hidden));
        return new DecoderSpec(embedding, layers, finalNorm, head, config.normEpsilon(), config.stream());
    }

    private LayerSpec layer(int index) {
        String prefix = "model.layers.%d.".formatted(index);
        return new LayerSpec(attention(index, prefix), feedForward(prefix));
    }

    private LayerSpec.Attention attention(int index, String prefix) {
        LayerShape shape = config.layers().get(index);
        int queries = config.headCount() * config.headSize();
        Part[] projections = projections(prefix + "self_attn.", ".weight");
        return new LayerSpec.Attention(norm(prefix + "input_layernorm"),
                weights.matrix(config.hiddenSize(), projections), heads(prefix + "self_attn.", shape.rotation()),
                shape.attention(), config.placeOf(index),
                weights.matrix(queries, new Part(prefix + "self_attn.o_proj.weight", config.hiddenSize())),
                anatomy.hasOutputNorms() ? norm(prefix + "post_attention_layernorm") : null);
    }

    private Part[] projections(String prefix, String suffix) {
        int queries = config.headCount() * config.headSize();
        int keys = config.kvHeadCount() * config.headSize();
        return anatomy.isFused() ? new Part[] {new Part(prefix + "qkv_proj" + suffix, queries + 2 * keys)}
                : new Part[] {new Part(prefix + "q_proj" + suffix, queries), new Part(prefix + "k_proj" + suffix, keys),
                    new Part(prefix + "v_proj" + suffix, keys)};
    }

    private QkvSpec heads(String prefix, Rotation rotation) {
        Tensor bias = anatomy.hasBiases() ? weights.vector(0, 1, projections(prefix, ".bias")) : null;
        QkvSpec.HeadNorms norms = anatomy.hasHeadNorms() ? new QkvSpec.HeadNorms(headNorm(prefix + "q_norm"),
                headNorm(prefix + "k_norm"), config.normEpsilon()) : null;
        return new QkvSpec(bias, norms, rotary(rotation));
    }

    private @Nullable Tensor rotary(Rotation rotation) {
        return rotation.size() == 0 ? null
                : rotaryTables.computeIfAbsent(rotation, each -> weights.rotary(each, config.contextLength()));
    }

    private LayerSpec.FeedForward feedForward(String prefix) {
        int hidden = config.hiddenSize();
        int wide = config.intermediateSize();
        boolean named = anatomy.hasOutputNorms();
        Tensor gateUp = anatomy.isFused()
                ? weights.matrix(hidden, new Part(prefix + "mlp.gate_up_proj.weight", 2 * wide))
                : weights.matrix(hidden, new Part(prefix + "mlp.gate_proj.weight", wide),
                        new Part(prefix + "mlp.up_proj.weight", wide));
        return new LayerSpec.FeedForward(
                norm(prefix + (named ? "pre_feedforward_layernorm" : "post_attention_layernorm")), gateUp,
                anatomy.activation(), weights.matrix(wide, new Part(prefix + "mlp.down_proj.weight", hidden)),
                named ? norm(prefix + "post_feedforward_layernorm") : null);
    }

    private Tensor norm(String name) {
        return weights.vector(shift(), 1, new Part(name + ".weight", config.hiddenSize()));
    }

    private Tensor headNorm(String name) {
        return weights.vector(shift(), 1, new Part(name + ".weight", config.headSize()));
    }

    private double shift() {
        return anatomy.shiftsNorms() ? 1 : 0;
    }
}
