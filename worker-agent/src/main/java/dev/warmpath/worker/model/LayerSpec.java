package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.GateActivation;
import dev.warmpath.worker.compute.QkvSpec;
import dev.warmpath.worker.compute.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * One layer of a {@link Decoder}: attention, then a gated feed-forward block, each over the normed residual stream and
 * added to it. Matrices are weights [outputs, inputs], norms F32 [1, hidden].
 */
record LayerSpec(Attention attention, FeedForward feedForward) {

    /**
     * @param inputNorm  before the projection
     * @param qkv        queries over keys over values
     * @param heads      what becomes of them
     * @param spec       the arithmetic; without sinks
     * @param place      where keys and values lie
     * @param output     of attention
     * @param outputNorm of what is added; null: none
     */
    record Attention(Tensor inputNorm, Tensor qkv, QkvSpec heads, AttentionSpec spec, CachePlace place, Tensor output,
                     @Nullable Tensor outputNorm) {

        Attention {
            if (spec.sinks()) {
                throw new IllegalArgumentException("a layer has no sinks to attend to");
            }
        }
    }

    /**
     * @param inputNorm  before gate and up
     * @param gateUp     gate over up
     * @param activation of the gate
     * @param outputNorm of what is added; null: none
     */
    record FeedForward(Tensor inputNorm, Tensor gateUp, GateActivation activation, Tensor down,
                       @Nullable Tensor outputNorm) {
    }

    /**
     * @param group index of the cache group whose block tables name the layer's blocks
     * @param layer the layer's index among those of its group: groups share the planes of one cache, each with blocks
     *              of its own
     */
    record CachePlace(int group, int layer) {
    }
}
