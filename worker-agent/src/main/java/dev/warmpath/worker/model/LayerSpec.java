package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Tensor;

/**
 * One layer of a {@link Decoder}: pre-norm attention, then a pre-norm gated feed-forward block, each added to the
 * residual stream. Matrices are weights [outputs, inputs], norms [1, hidden] of the activations' type.
 *
 * @param inputNorm         before attention
 * @param qkv               queries over keys over values
 * @param rotary            F32 [positions, headSize], see {@link RotaryTable}
 * @param attention         its arithmetic; without sinks
 * @param place             where its keys and values lie
 * @param output            of attention
 * @param postAttentionNorm before the feed-forward block
 * @param gateUp            gate over up
 * @param down              of the feed-forward block
 */
record LayerSpec(Tensor inputNorm, Tensor qkv, Tensor rotary, AttentionSpec attention, CachePlace place, Tensor output,
                 Tensor postAttentionNorm, Tensor gateUp, Tensor down) {

    LayerSpec {
        if (attention.sinks()) {
            throw new IllegalArgumentException("a layer has no sinks to attend to");
        }
    }

    /**
     * @param group index of the cache group whose block tables name the layer's blocks
     * @param layer the layer's index among those of its group: groups share the planes of one cache, each with blocks
     *              of its own
     */
    record CachePlace(int group, int layer) {
    }
}
