package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Tensor;

/**
 * Llama's decoder as a list of operations: pre-norm, rotary grouped-query attention over the paged cache, SwiGLU. Only
 * the rows that are sampled see the final norm and the head. Source: Touvron et al., arXiv 2302.13971 and 2307.09288;
 * names and conventions as in transformers' modeling_llama.
 */
final class LlamaDecoder {

    private final ModelConfig config;
    private final LlamaWeights weights;
    private final ComputeBackend backend;
    private final AttentionSpec attention;
    private final Tensor rotary;
    /** The residual stream; each layer adds to it in place. */
    private final Tensor residual;
    private final Tensor normed;
    private final Tensor qkv;
    private final Tensor attended;
    /** What a block of the layer adds to the residual stream. */
    private final Tensor delta;
    private final Tensor gateUp;
    private final Tensor activated;
    private final Tensor sampledResidual;
    private final Tensor sampledDelta;
    private final Tensor sampledNormed;
    private final Tensor logits;

    LlamaDecoder(ModelConfig config, LlamaWeights weights, ComputeBackend backend, int maxTokens, int maxSequences) {
        this.config = config;
        this.weights = weights;
        this.backend = backend;
        this.attention = AttentionSpec.plain(config.headSize());
        this.rotary = RotaryTable.create(config, backend);
        int hidden = config.hiddenSize();
        this.residual = activations(maxTokens, hidden);
        this.normed = activations(maxTokens, hidden);
        this.qkv = activations(maxTokens, config.qkvSize());
        this.attended = activations(maxTokens, config.headCount() * config.headSize());
        this.delta = activations(maxTokens, hidden);
        this.gateUp = activations(maxTokens, 2 * config.intermediateSize());
        this.activated = activations(maxTokens, config.intermediateSize());
        this.sampledResidual = activations(maxSequences, hidden);
        this.sampledDelta = activations(maxSequences, hidden);
        this.sampledNormed = activations(maxSequences, hidden);
        this.logits = backend.allocate(DataType.F32, maxSequences, config.vocabularySize());
    }

    private Tensor activations(int rows, int columns) {
        return backend.allocate(backend.activationType(), rows, columns);
    }

    /** Enqueues the whole forward pass; afterwards {@link #logits} holds one row per sampled sequence. */
    void enqueue(StepInputs inputs, PagedBatch batch, KvCache cache, int sampledCount) {
        int rows = batch.tokenCount();
        backend.embed(inputs.tokens, weights.embedding(), residual, rows);
        for (int layer = 0; layer < config.layerCount(); layer++) {
            var w = weights.layers().get(layer);
            if (layer == 0) {
                backend.rmsNorm(residual, w.inputNorm(), config.normEpsilon(), normed, rows);
            } else {
                backend.addRmsNorm(residual, delta, w.inputNorm(), config.normEpsilon(), normed, rows);
            }
            backend.matmul(normed, w.qkv(), qkv, rows);
            backend.rotateAndStoreKv(qkv, rotary, batch, cache, layer);
            backend.pagedAttention(qkv, attention, null, batch, cache, layer, attended);
            backend.matmul(attended, w.output(), delta, rows);
            backend.addRmsNorm(residual, delta, w.postAttentionNorm(), config.normEpsilon(), normed, rows);
            backend.matmul(normed, w.gateUp(), gateUp, rows);
            backend.siluMul(gateUp, activated, rows);
            backend.matmul(activated, w.down(), delta, rows);
        }
        backend.gatherRows(residual, inputs.sampledRows, sampledResidual, sampledCount);
        backend.gatherRows(delta, inputs.sampledRows, sampledDelta, sampledCount);
        backend.addRmsNorm(sampledResidual, sampledDelta, weights.finalNorm(), config.normEpsilon(), sampledNormed,
                sampledCount);
        backend.matmul(sampledNormed, weights.head(), logits, sampledCount);
    }

    /** F32 [maxSequences, vocabulary]. */
    Tensor logits() {
        return logits;
    }
}
