package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Tensor;
import java.util.List;

/**
 * A whole decoder with its weights, as a family composes it.
 *
 * @param embedding   weight [vocabulary, hidden]
 * @param layers      in order, at least one; all of the same widths
 * @param finalNorm   [1, hidden]
 * @param head        weight [vocabulary, hidden]; may be the embedding
 * @param normEpsilon of all norms
 */
record DecoderSpec(Tensor embedding, List<LayerSpec> layers, Tensor finalNorm, Tensor head, float normEpsilon) {

    DecoderSpec {
        layers = List.copyOf(layers);
    }
}
