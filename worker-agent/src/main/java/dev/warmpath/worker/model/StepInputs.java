package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.Tensor;
import java.util.ArrayList;
import java.util.List;

/** The device's side of an {@link InputBatch}: tensors for the largest step, rewritten by each. */
final class StepInputs {

    private final ComputeBackend backend;
    final Tensor tokens;
    private final Tensor sources;
    final Tensor sampledRows;
    final SamplingInputs sampling;
    final LogitAdjustments adjustments;
    final ScoreInputs scoring;
    /** Rows of the step by which the prompt is scored, at {@link InputBatch#promptRowPlace}. */
    final Tensor promptRows;
    private final List<PagedBatch> largest = new ArrayList<>();

    /**
     * @param groups     of the cache, each with block tables and slots of its own
     * @param maxEntries adjustments of logits, of all rows together
     */
    StepInputs(ComputeBackend backend, int groups, int maxTokens, int maxSequences, int blockTableStride,
               int maxEntries) {
        this.backend = backend;
        this.tokens = ints(maxTokens);
        this.sources = ints(maxTokens);
        this.sampledRows = ints(maxSequences);
        this.sampling = new SamplingInputs(backend.allocate(DataType.I64, maxSequences, 1), ints(maxSequences),
                backend.allocate(DataType.F32, maxSequences, 1), ints(maxSequences),
                backend.allocate(DataType.F32, maxSequences, 1), ints(maxSequences));
        this.adjustments = new LogitAdjustments(ints(maxSequences), ints(maxSequences + 1), ints(maxSequences),
                floats(maxSequences), floats(maxSequences), floats(maxSequences), floats(maxSequences),
                ints(maxEntries), floats(maxEntries), ints(maxEntries), floats(maxEntries));
        this.scoring = new ScoreInputs(ints(maxSequences + maxTokens), ints(maxSequences + maxTokens));
        this.promptRows = ints(InputBatch.promptRowPlaces(maxTokens, maxSequences));
        Tensor positions = ints(maxTokens);
        Tensor queryStarts = ints(maxSequences + 1);
        Tensor contextLengths = ints(maxSequences);
        for (int group = 0; group < groups; group++) {
            largest.add(new PagedBatch(positions, ints(maxTokens),
                    backend.allocate(DataType.I32, maxSequences, blockTableStride), queryStarts, contextLengths,
                    maxTokens, maxSequences, blockTableStride));
        }
    }

    private Tensor ints(int rows) {
        return backend.allocate(DataType.I32, rows, 1);
    }

    private Tensor floats(int rows) {
        return backend.allocate(DataType.F32, rows, 1);
    }

    /**
     * Enqueues the writes of a batch, all of them before the first operation: a device then takes them in one copy.
     * @param drawn by the step before
     * @return where the batch's tokens stand, in each group of the cache
     */
    List<PagedBatch> write(InputBatch batch, SampledTokens drawn) {
        backend.write(tokens, batch.tokens());
        if (batch.isFed()) {
            backend.write(sources, batch.sources());
        }
        PagedBatch first = largest.getFirst();
        backend.write(first.positions(), batch.positions());
        backend.write(first.queryStarts(), batch.queryStarts());
        backend.write(first.contextLengths(), batch.contextLengths());
        List<PagedBatch> batches = new ArrayList<>(largest.size());
        for (int group = 0; group < largest.size(); group++) {
            PagedBatch all = largest.get(group);
            backend.write(all.slotMapping(), batch.slots(group));
            backend.write(all.blockTables(), batch.blockTables(group));
            batches.add(new PagedBatch(all.positions(), all.slotMapping(), all.blockTables(), all.queryStarts(),
                    all.contextLengths(), batch.tokenCount(), batch.sequenceCount(), batch.blockTableStride()));
        }
        backend.write(sampledRows, batch.sampledRows());
        backend.write(sampling.seeds(), batch.seeds());
        backend.write(sampling.counters(), batch.counters());
        backend.write(sampling.temperatures(), batch.temperatures());
        backend.write(sampling.topKs(), batch.topKs());
        backend.write(sampling.topPs(), batch.topPs());
        backend.write(sampling.logprobs(), batch.logprobs());
        if (batch.isAdjusted()) {
            batch.writeAdjustments(backend, adjustments);
        }
        if (batch.isScored()) {
            batch.writeScoring(backend, scoring, promptRows);
        }
        if (batch.isFed()) {
            backend.feedTokens(drawn, sources, tokens, batch.tokenCount());
        }
        return batches;
    }
}
