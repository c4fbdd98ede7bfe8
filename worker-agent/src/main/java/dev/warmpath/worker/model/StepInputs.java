package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.Tensor;

/** The device's side of an {@link InputBatch}: tensors for the largest step, rewritten by each. */
final class StepInputs {

    private final ComputeBackend backend;
    final Tensor tokens;
    private final Tensor sources;
    final Tensor sampledRows;
    final SamplingInputs sampling;
    private final PagedBatch largest;

    StepInputs(ComputeBackend backend, int maxTokens, int maxSequences, int blockTableStride) {
        this.backend = backend;
        this.tokens = ints(maxTokens);
        this.sources = ints(maxTokens);
        this.sampledRows = ints(maxSequences);
        this.sampling = new SamplingInputs(backend.allocate(DataType.I64, maxSequences, 1), ints(maxSequences),
                backend.allocate(DataType.F32, maxSequences, 1), ints(maxSequences),
                backend.allocate(DataType.F32, maxSequences, 1), ints(maxSequences));
        this.largest = new PagedBatch(ints(maxTokens), ints(maxTokens),
                backend.allocate(DataType.I32, maxSequences, blockTableStride), ints(maxSequences + 1),
                ints(maxSequences), maxTokens, maxSequences, blockTableStride);
    }

    private Tensor ints(int rows) {
        return backend.allocate(DataType.I32, rows, 1);
    }

    /**
     * Enqueues the writes of a batch, all of them before the first operation: a device then takes them in one copy.
     * @param drawn by the step before
     * @return where the batch's tokens stand
     */
    PagedBatch write(InputBatch batch, SampledTokens drawn) {
        backend.write(tokens, batch.tokens());
        if (batch.isFed()) {
            backend.write(sources, batch.sources());
        }
        backend.write(largest.positions(), batch.positions());
        backend.write(largest.slotMapping(), batch.slots());
        backend.write(largest.blockTables(), batch.blockTables());
        backend.write(largest.queryStarts(), batch.queryStarts());
        backend.write(largest.contextLengths(), batch.contextLengths());
        backend.write(sampledRows, batch.sampledRows());
        backend.write(sampling.seeds(), batch.seeds());
        backend.write(sampling.counters(), batch.counters());
        backend.write(sampling.temperatures(), batch.temperatures());
        backend.write(sampling.topKs(), batch.topKs());
        backend.write(sampling.topPs(), batch.topPs());
        backend.write(sampling.logprobs(), batch.logprobs());
        if (batch.isFed()) {
            backend.feedTokens(drawn, sources, tokens, batch.tokenCount());
        }
        return new PagedBatch(largest.positions(), largest.slotMapping(), largest.blockTables(), largest.queryStarts(),
                largest.contextLengths(), batch.tokenCount(), batch.sequenceCount(), batch.blockTableStride());
    }
}
