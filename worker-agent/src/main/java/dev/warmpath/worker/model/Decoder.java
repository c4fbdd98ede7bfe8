package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Recording;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A decoder as a list of operations over its {@link LayerSpec}s. Only the rows that are sampled see the final norm and
 * the head; and those by which a prompt is scored, after that, in portions for which there is room. Activations are
 * allocated once, for the largest step.
 */
final class Decoder {

    private final DecoderSpec spec;
    private final ComputeBackend backend;
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
    /** Of steps in which every row is sampled, by the width of their block tables, of which there are few. */
    private final Map<Integer, Recording> recordings = new HashMap<>();

    Decoder(DecoderSpec spec, ComputeBackend backend, int maxTokens, int maxSequences) {
        this.spec = spec;
        this.backend = backend;
        var layer = spec.layers().getFirst();
        int hidden = spec.embedding().columns();
        this.residual = activations(maxTokens, hidden);
        this.normed = activations(maxTokens, hidden);
        this.qkv = activations(maxTokens, layer.attention().qkv().rows());
        this.attended = activations(maxTokens, layer.attention().output().columns());
        this.delta = activations(maxTokens, hidden);
        this.gateUp = activations(maxTokens, layer.feedForward().gateUp().rows());
        this.activated = activations(maxTokens, layer.feedForward().down().columns());
        this.sampledResidual = activations(maxSequences, hidden);
        this.sampledDelta = activations(maxSequences, hidden);
        this.sampledNormed = activations(maxSequences, hidden);
        this.logits = backend.allocate(DataType.F32, maxSequences, spec.head().rows());
    }

    private Tensor activations(int rows, int columns) {
        return backend.allocate(backend.activationType(), rows, columns);
    }

    /**
     * Enqueues the whole forward pass; afterwards {@link #logits} holds one row per sampled sequence.
     * @param batches the same tokens in each group of the cache
     */
    void enqueue(StepInputs inputs, List<PagedBatch> batches, KvCache cache, int sampledCount) {
        PagedBatch batch = batches.getFirst();
        if (batch.tokenCount() == sampledCount) {
            var recording = recordings.computeIfAbsent(batch.blockTableStride(), _ -> new Recording());
            backend.repeat(recording, batch, () -> enqueueAll(inputs, batches, cache, sampledCount));
        } else {
            enqueueAll(inputs, batches, cache, sampledCount);
        }
    }

    private void enqueueAll(StepInputs inputs, List<PagedBatch> batches, KvCache cache, int sampledCount) {
        int rows = batches.getFirst().tokenCount();
        backend.embed(inputs.tokens, spec.embedding(), residual, rows);
        scale(residual, spec.stream().embeddingScale(), rows);
        for (int i = 0; i < spec.layers().size(); i++) {
            LayerSpec.Attention attention = spec.layers().get(i).attention();
            if (i == 0) {
                backend.rmsNorm(residual, attention.inputNorm(), spec.normEpsilon(), normed, rows);
            } else {
                addDelta(attention.inputNorm(), rows);
            }
            enqueue(attention, batches.get(attention.place().group()), cache);
            enqueue(spec.layers().get(i).feedForward(), rows);
        }
        enqueueHead(inputs.sampledRows, 0, sampledCount);
    }

    private void enqueueHead(Tensor rows, int first, int count) {
        backend.gatherRows(residual, rows, first, sampledResidual, count);
        backend.gatherRows(delta, rows, first, sampledDelta, count);
        backend.addRmsNorm(sampledResidual, sampledDelta, spec.finalNorm(), spec.normEpsilon(), sampledNormed, count);
        backend.matmul(sampledNormed, spec.head(), logits, count);
        if (spec.stream().logitCap() != StreamSpec.NO_CAP) {
            backend.softCap(logits, (float) spec.stream().logitCap(), count);
        }
    }

    /**
     * Enqueues the scoring of a prompt's tokens, behind {@link #enqueue} and after tokens were drawn: logits are lost.
     * @param firstScored where the first goes in {@code scored}
     * @param count       of the rows of {@link StepInputs#promptRows}
     */
    void enqueueScores(StepInputs inputs, ScoredTokens scored, int firstScored, int count) {
        for (int first = 0; first < count; first += logits.rows()) {
            int rows = Math.min(logits.rows(), count - first);
            enqueueHead(inputs.promptRows, InputBatch.promptRowPlace(first, logits.rows()), rows);
            backend.score(logits, inputs.scoring, scored, firstScored + first, rows);
        }
    }

    /** From the normed input to what attention adds. */
    private void enqueue(LayerSpec.Attention block, PagedBatch batch, KvCache cache) {
        int rows = batch.tokenCount();
        int planes = block.place().layer();
        backend.matmul(normed, block.qkv(), qkv, rows);
        backend.rotateAndStoreKv(qkv, block.heads(), batch, cache, planes);
        backend.pagedAttention(qkv, block.spec(), /* sinks */ null, batch, cache, planes, attended);
        backend.matmul(attended, block.output(), delta, rows);
        finishDelta(block.outputNorm(), rows);
    }

    /** Adds what attention has made, and goes on to what the feed-forward block adds. */
    private void enqueue(LayerSpec.FeedForward block, int rows) {
        addDelta(block.inputNorm(), rows);
        backend.matmul(normed, block.gateUp(), gateUp, rows);
        backend.gate(gateUp, block.activation(), activated, rows);
        backend.matmul(activated, block.down(), delta, rows);
        finishDelta(block.outputNorm(), rows);
    }

    private void addDelta(Tensor norm, int rows) {
        backend.addRmsNorm(residual, delta, norm, spec.normEpsilon(), normed, rows);
    }

    private void finishDelta(@Nullable Tensor norm, int rows) {
        if (norm != null) {
            backend.rmsNorm(delta, norm, spec.normEpsilon(), delta, rows);
        }
        scale(delta, spec.stream().residualScale(), rows);
    }

    private void scale(Tensor tensor, double factor, int rows) {
        if (factor != 1) {
            backend.scale(tensor, (float) factor, rows);
        }
    }

    /** F32 [maxSequences, vocabulary]. */
    Tensor logits() {
        return logits;
    }
}
