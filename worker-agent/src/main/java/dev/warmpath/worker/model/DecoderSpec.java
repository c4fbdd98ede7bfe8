package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Tensor;
import java.util.List;

/**
 * A whole decoder with its weights, as a family's anatomy composes it.
 *
 * @param embedding   weight [vocabulary, hidden]
 * @param layers      in order, at least one; all of the same widths
 * @param finalNorm   F32 [1, hidden]; the scale of logits is a part of it
 * @param head        weight [vocabulary, hidden]; may be the embedding
 * @param normEpsilon of all norms
 * @param stream      what happens between the layers' blocks
 */
record DecoderSpec(Tensor embedding, List<LayerSpec> layers, Tensor finalNorm, Tensor head, float normEpsilon,
                   StreamSpec stream) {

    DecoderSpec {
        layers = List.copyOf(layers);
    }
}
