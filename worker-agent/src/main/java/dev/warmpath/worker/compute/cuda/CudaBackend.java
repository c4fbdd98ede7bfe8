package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Steps on an NVIDIA card. */
public final class CudaBackend implements ComputeBackend {

    /**
     * Opens the card.
     * @param cacheType element type of keys and values, BF16 or FP8_E4M3
     * @throws CudaUnavailableException if this machine or this build cannot compute on CUDA; the message says why
     */
    public static CudaBackend open(CudaSettings settings, CacheType cacheType) throws CudaUnavailableException {
        throw new UnsupportedOperationException();
    }

    /** Over a device that is open already, which this backend closes. */
    static CudaBackend on(CudaDevice device, CacheType cacheType) {
        throw new UnsupportedOperationException();
    }

    /** One line for the log: card, memory, driver, libraries. */
    public String describe() {
        throw new UnsupportedOperationException();
    }

    /** Times operations and copies on this card. */
    public DeviceTimer timer() {
        throw new UnsupportedOperationException();
    }

    @Override
    public String name() {
        throw new UnsupportedOperationException();
    }

    @Override
    public DataType activationType() {
        throw new UnsupportedOperationException();
    }

    @Override
    public @Nullable String lack(CacheShape shape, int queryHeadCount, int... widths) {
        return KernelSizes.lack(shape, queryHeadCount, widths);
    }

    @Override
    public Tensor allocate(DataType type, int rows, int columns) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Tensor allocateWeight(int rows, int columns) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void upload(Tensor weight, int firstRow, int rowCount, DataType type, MemorySegment values) {
        throw new UnsupportedOperationException();
    }

    @Override
    public KvCache allocateKvCache(CacheShape shape, int blockCount, int hostBlockCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long bytesPerBlock(CacheShape shape) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CacheType cacheType() {
        throw new UnsupportedOperationException();
    }

    @Override
    public int kernelBlockSize() {
        throw new UnsupportedOperationException();
    }

    @Override
    public OptionalLong freeMemory() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void write(Tensor target, MemorySegment values) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void read(Tensor source, int rowCount, MemorySegment values) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void feedTokens(SampledTokens drawn, Tensor sources, Tensor tokens, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void embed(Tensor tokens, Tensor table, Tensor hidden, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void rmsNorm(Tensor input, Tensor weight, float epsilon, Tensor output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void addRmsNorm(Tensor residual, Tensor addend, Tensor weight, float epsilon, Tensor output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void matmul(Tensor input, Tensor weight, Tensor output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void rotateAndStoreKv(Tensor qkv, Tensor rotary, PagedBatch batch, KvCache cache, int layer) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void pagedAttention(Tensor qkv, PagedBatch batch, KvCache cache, int layer, Tensor output) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void siluMul(Tensor gateUp, Tensor output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void gatherRows(Tensor input, Tensor rowIndexes, Tensor output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void sample(Tensor logits, SamplingInputs inputs, SampledTokens output, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void copyBlocks(KvCache cache, BlockMapping mapping, CopyDirection direction) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Completion submit(SampledTokens sampled, int rowCount) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void await(Completion completion, StepOutput output) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
