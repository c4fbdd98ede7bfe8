package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.DeviceLostException;
import dev.warmpath.worker.compute.GateActivation;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.OutstandingSteps;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.QkvSpec;
import dev.warmpath.worker.compute.Recording;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Steps on an NVIDIA card. Operations are recorded and launched together, when a step is submitted or somebody has to
 * see what they did:
 * <pre>
 *   write ─→ staged          feedTokens … sample ─→ recorded
 *   submit:  send the attention's plan and what was staged · replay the step's graph, or launch its kernels · bring
 *            the results
 *   await:   wait for the results' event
 * </pre>
 * A step in which every sequence decodes one token is replayed as a graph, with its row count rounded up to a bucket,
 * between the kernels that feed and draw its tokens; all others are launched kernel by kernel with the rows they have.
 * Everything runs on one stream, except that blocks cross to and from the host tier on another. The host never waits
 * for the card except in {@link #await} and {@link #read}, and where a ring of pinned memory has run full.
 *
 * <p>Whoever loads the model may be another thread than the engine's: the one that submits the first step owns the card
 * from then on, and every other thread is refused by {@link IllegalStateException}. Only {@link #close} is for all.
 */
public final class CudaBackend implements ComputeBackend {

    /**
     * Left to driver and libraries, which take memory of the card by themselves while steps run: executable graphs,
     * kernels loaded when first launched, cuBLASLt's above all, and what the driver rounds allocations up by. An
     * estimate with room to spare, for nothing says beforehand what they will take.
     */
    private static final long RESERVE_BYTES = 256L << 20;

    private final CudaDevice device;
    private final CacheType cacheType;
    private final Handles handles;
    private final CudaStream stream;
    private final Staging staging;
    private final WeightWriter weightWriter;
    private final AttentionPlan plan;
    private final BlockProducts blocks;
    private final StepRunner runner;
    private final BlockCopier blockCopier;
    private final StepResults results;
    private final List<SwapStream> swaps = new ArrayList<>();
    private final OutstandingSteps<StepResults.Slot> outstanding = new OutstandingSteps<>();

    /**
     * Opens the card.
     * @param cacheType element type of keys and values, BF16 or FP8_E4M3
     * @throws CudaUnavailableException if this machine or this build cannot compute on CUDA; the message says why
     */
    public static CudaBackend open(CudaSettings settings, CacheType cacheType) throws CudaUnavailableException {
        var device = CudaDevice.open(settings);
        try {
            return on(device, cacheType);
        } catch (ComputeException | DeviceLostException e) {
            throw new CudaUnavailableException("CUDA device %d, %s, cannot be used: %s"
                    .formatted(settings.device(), device.name(), e.getMessage()), e);
        }
    }

    /** Over a device that is open already, which this backend closes, also if this fails. */
    static CudaBackend on(CudaDevice device, CacheType cacheType) {
        try {
            return new CudaBackend(device, cacheType);
        } catch (RuntimeException e) {
            device.close();
            throw e;
        }
    }

    private CudaBackend(CudaDevice device, CacheType cacheType) {
        if (cacheType == CacheType.F32) {
            throw new IllegalArgumentException("the CUDA kernels keep no keys and values of float32");
        }
        this.device = device;
        this.cacheType = cacheType;
        handles = new Handles(device);
        stream = device.newStream();
        staging = new Staging(device, stream);
        weightWriter = new WeightWriter(staging);
        plan = new AttentionPlan(device.multiprocessors());
        blocks = new BlockProducts(device, stream);
        runner = new StepRunner(device, stream, staging, plan, blocks);
        blockCopier = new BlockCopier(device, stream, staging);
        results = new StepResults(device, stream);
    }

    // ---- steps

    @Override
    public Completion submit(SampledTokens sampled, int rowCount, @Nullable ScoredTokens scored, int scoredCount) {
        device.belongToThisThread();
        StepResults.Slot result = endingStep(() -> {
            Shapes.submit(sampled, rowCount, scored, scoredCount);
            CudaTensor tokens = handles.ints(sampled.tokens(), rowCount);
            CudaTensor logprobs = handles.floats(sampled.logprobs(), rowCount);
            outstanding.requireFree(sampled);
            StepResults.Told told = scored == null || scoredCount == 0 ? null
                    : new StepResults.Told(handles.floats(scored.logprobs(), scoredCount),
                            handles.ints(scored.ranks(), scoredCount), handles.ints(scored.topIds(), scoredCount),
                            handles.floats(scored.topLogprobs(), scoredCount), scoredCount);
            runner.run(true);
            return results.bring(tokens, logprobs, rowCount, told);
        });
        return outstanding.add(sampled, rowCount, scoredCount, result);
    }

    @Override
    public void await(Completion completion, StepOutput output) {
        device.enter();
        var step = outstanding.take(completion, output);
        try {
            step.result().arrived().synchronize();
            output.fill(step.result().tokens(), step.result().logprobs(), step.rowCount());
            StepResults.Scores scores = step.result().scores();
            if (scores != null && step.scoredCount() > 0) {
                output.fillScores(scores.logprobs(), scores.ranks(), scores.topIds(), scores.topLogprobs(),
                        step.scoredCount());
            }
        } finally {
            results.giveBack(step.result());
        }
    }

    // ---- operations, recorded

    @Override
    public void feedTokens(SampledTokens drawn, Tensor sources, Tensor tokens, int rowCount) {
        record(rowCount, () -> new Operation.FeedTokens(handles.ints(drawn.tokens(), 0),
                handles.ints(sources, rowCount), handles.ints(tokens, rowCount)));
    }

    @Override
    public void embed(Tensor tokens, Tensor table, Tensor hidden, int rowCount) {
        record(rowCount, () -> {
            Shapes.embed(table, hidden);
            return new Operation.Embed(handles.ints(tokens, rowCount), handles.weight(table),
                    handles.activations(hidden, rowCount));
        });
    }

    @Override
    public void rmsNorm(Tensor input, Tensor weight, float epsilon, Tensor output, int rowCount) {
        record(rowCount, () -> {
            Shapes.norm(input, weight, output);
            return new Operation.RmsNorm(handles.activations(input, rowCount), handles.floats(weight, 1), epsilon,
                    handles.activations(output, rowCount));
        });
    }

    @Override
    public void addRmsNorm(Tensor residual, Tensor addend, Tensor weight, float epsilon, Tensor output, int rowCount) {
        record(rowCount, () -> {
            Shapes.norm(addend, weight, output);
            Shapes.norm(residual, weight, output);
            return new Operation.AddRmsNorm(handles.activations(residual, rowCount),
                    handles.activations(addend, rowCount), handles.floats(weight, 1), epsilon,
                    handles.activations(output, rowCount));
        });
    }

    @Override
    public void matmul(Tensor input, Tensor weight, Tensor output, int rowCount) {
        record(rowCount, () -> {
            Shapes.matmul(input, weight, output);
            CudaTensor product = output.type() == DataType.F32 ? handles.floats(output, rowCount)
                    : handles.activations(output, rowCount);
            return new Operation.Matmul(handles.activations(input, rowCount), handles.weight(weight), product);
        });
    }

    @Override
    public void rotateAndStoreKv(Tensor qkv, QkvSpec spec, PagedBatch batch, KvCache cache, int layer) {
        int rowCount = batch.tokenCount();
        record(rowCount, () -> {
            CudaKvCache pages = handles.cache(cache);
            KernelSizes.requireGroup(pages.shape(), Shapes.qkv(qkv, spec, pages.shape()));
            KernelSizes.requireTurned(spec.turnedElements());
            return new Operation.RotateAndStore(handles.activations(qkv, rowCount), headWork(spec),
                    handles.ints(batch.positions(), rowCount), handles.ints(batch.slotMapping(), rowCount), pages,
                    layer);
        });
    }

    private Operation.HeadWork headWork(QkvSpec spec) {
        QkvSpec.HeadNorms norms = spec.norms();
        return new Operation.HeadWork(spec.bias() == null ? null : handles.floats(spec.bias(), 1),
                norms == null ? null : handles.floats(norms.query(), 1),
                norms == null ? null : handles.floats(norms.key(), 1), norms == null ? 0 : norms.epsilon(),
                spec.rotary() == null ? null : handles.floats(spec.rotary(), 0));
    }

    @Override
    public void pagedAttention(Tensor qkv, AttentionSpec spec, @Nullable Tensor sinks, PagedBatch batch, KvCache cache,
                               int layer, Tensor output) {
        int rowCount = batch.tokenCount();
        record(rowCount, () -> {
            CudaKvCache pages = handles.cache(cache);
            int queryHeads = Shapes.queryHeads(qkv, pages.shape());
            Shapes.attention(queryHeads, pages.shape(), spec, sinks, output);
            KernelSizes.requireGroup(pages.shape(), queryHeads);
            KernelSizes.requireAttention(spec);
            var attention = new Operation.Attention(handles.activations(qkv, rowCount), spec,
                    handles.ints(batch.blockTables(), 0), batch.blockTableStride(), pages, layer,
                    handles.activations(output, rowCount));
            runner.attendIn(batch, pages.shape().kvHeadCount(), queryHeads / pages.shape().kvHeadCount(),
                    handles.ints(batch.queryStarts(), batch.sequenceCount() + 1),
                    handles.ints(batch.contextLengths(), batch.sequenceCount()));
            return attention;
        });
    }

    @Override
    public void gate(Tensor gateUp, GateActivation activation, Tensor output, int rowCount) {
        record(rowCount, () -> {
            Shapes.gate(gateUp, output);
            return new Operation.Gate(handles.activations(gateUp, rowCount), activation,
                    handles.activations(output, rowCount));
        });
    }

    @Override
    public void scale(Tensor rows, float factor, int rowCount) {
        record(rowCount, () -> new Operation.Scale(handles.activations(rows, rowCount), factor));
    }

    @Override
    public void softCap(Tensor logits, float cap, int rowCount) {
        record(rowCount, () -> {
            Shapes.softCap(logits, cap, rowCount);
            return new Operation.SoftCap(handles.floats(logits, rowCount), cap);
        });
    }

    @Override
    public void gatherRows(Tensor input, Tensor rowIndexes, int firstIndex, Tensor output, int rowCount) {
        record(rowCount, () -> {
            Shapes.gather(input, firstIndex, output);
            return new Operation.GatherRows(handles.activations(input, 0),
                    handles.ints(rowIndexes, firstIndex + rowCount), firstIndex, handles.activations(output, rowCount));
        });
    }

    @Override
    public void score(Tensor logits, ScoreInputs inputs, ScoredTokens output, int firstRow, int rowCount) {
        record(rowCount, () -> {
            Shapes.score(logits, inputs, output, firstRow, rowCount);
            int rows = firstRow + rowCount;
            return new Operation.Score(handles.floats(logits, rowCount), handles.ints(inputs.targets(), rows),
                    handles.ints(inputs.counts(), rows), firstRow, handles.floats(output.logprobs(), rows),
                    handles.ints(output.ranks(), rows), handles.ints(output.topIds(), rows),
                    handles.floats(output.topLogprobs(), rows));
        });
    }

    @Override
    public void sample(Tensor logits, SamplingInputs inputs, SampledTokens output, int rowCount) {
        record(rowCount, () -> sample(logits, inputs, null, output, rowCount));
    }

    @Override
    public void sampleAdjusted(Tensor logits, SamplingInputs inputs, LogitAdjustments adjustments,
                               SampledTokens before, SampledTokens output, int rowCount) {
        record(rowCount, () -> {
            int entries = adjustments.ids().rows();
            Shapes.require(adjustments.biases().rows() == entries && adjustments.notes().rows() == entries
                    && adjustments.raws().rows() == entries, "adjustments differ in entries");
            var adjustment = new Operation.Adjustment(handles.ints(adjustments.modes(), rowCount),
                    handles.ints(adjustments.starts(), rowCount + 1), handles.ints(adjustments.sources(), rowCount),
                    handles.ints(before.tokens(), 0), handles.floats(adjustments.repetitions(), rowCount),
                    handles.floats(adjustments.frequencies(), rowCount),
                    handles.floats(adjustments.presences(), rowCount), handles.floats(adjustments.cuts(), rowCount),
                    handles.ints(adjustments.ids(), 1), handles.floats(adjustments.biases(), 1),
                    handles.ints(adjustments.notes(), 1), handles.floats(adjustments.raws(), 1));
            return sample(logits, inputs, adjustment, output, rowCount);
        });
    }

    private Operation sample(Tensor logits, SamplingInputs inputs, Operation.@Nullable Adjustment adjustment,
                             SampledTokens output, int rowCount) {
        return new Operation.Sample(handles.floats(logits, rowCount), handles.longs(inputs.seeds(), rowCount),
                handles.ints(inputs.counters(), rowCount), handles.floats(inputs.temperatures(), rowCount),
                handles.ints(inputs.topKs(), rowCount), handles.floats(inputs.topPs(), rowCount),
                handles.ints(inputs.logprobs(), rowCount), handles.ints(output.tokens(), rowCount),
                handles.floats(output.logprobs(), rowCount), adjustment);
    }

    @Override
    public void repeat(Recording recording, PagedBatch batch, Runnable operations) {
        device.enter();
        endingStep(() -> {
            runner.repeat(recording, batch, handles.ints(batch.queryStarts(), 0),
                    handles.ints(batch.contextLengths(), 0), operations);
            return recording;
        });
    }

    /** @param operation checks what it is given */
    private void record(int rowCount, Supplier<Operation> operation) {
        device.enter();
        Operation checked = endingStep(operation);
        if (rowCount > 0) {
            runner.record(checked, rowCount);
        }
    }

    /**
     * Ends the step if a part of it is refused: what was recorded before does not run as a part of the next one. Writes
     * stay, which are nobody's part.
     */
    private <T> T endingStep(Supplier<T> part) {
        try {
            return part.get();
        } catch (RuntimeException refused) {
            runner.forget();
            throw refused;
        }
    }

    // ---- blocks

    @Override
    public void copyBlocks(KvCache cache, BlockMapping mapping, CopyDirection direction) {
        device.enter();
        Shapes.copyBlocks(cache, mapping, direction);
        runner.run(false);
        blockCopier.copy(handles.cache(cache), mapping, direction);
    }

    // ---- values

    @Override
    public void write(Tensor target, MemorySegment values) {
        device.enter();
        Shapes.write(target, values);
        CudaTensor tensor = handles.tensor(target);
        long bytes = values.byteSize();
        if (runner.hasRecorded() || !staging.takes(tensor.memory, bytes)) {
            runner.run(false);
        }
        if (staging.takes(tensor.memory, bytes)) {
            staging.write(tensor.memory, values);
        } else {
            staging.writeThrough(tensor.memory, bytes, (offset, part) ->
                    MemorySegment.copy(values, offset, part, 0, part.byteSize()));
        }
        tensor.remember(values);
    }

    @Override
    public void read(Tensor source, int rowCount, MemorySegment values) {
        device.enter();
        Shapes.rows(source, rowCount);
        CudaTensor tensor = handles.tensor(source);
        runner.run(false);
        DevicePointer leading = tensor.leading(rowCount);
        staging.readThrough(leading, values.asSlice(0, leading.bytes()));
    }

    @Override
    public void upload(Tensor weight, int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        device.enter();
        Shapes.upload(weight, firstRow, rowCount, format, values);
        CudaWeight target = handles.weight(weight);
        runner.run(false);
        weightWriter.write(target, firstRow, rowCount, format, values);
    }

    // ---- memory

    @Override
    public Tensor allocate(DataType type, int rows, int columns) {
        if (type == DataType.BF16) {
            KernelSizes.requireWidth(columns);
        }
        var tensor = CudaTensor.allocate(device, type, rows, columns);
        stream.fill(tensor.memory, (byte) 0);
        return tensor;
    }

    @Override
    public Tensor allocateWeight(int rows, int columns) {
        return allocateWeight(columns, List.of(new StoredRows(WeightFormat.BF16, rows)));
    }

    @Override
    public Tensor allocateWeight(int columns, List<StoredRows> rows) {
        KernelSizes.requireWidth(columns);
        Shapes.storedRows(columns, rows);
        if (CudaWeight.haveBlocks(rows)) {
            blocks.prepare();
        }
        var weight = CudaWeight.allocate(device, columns, rows);
        stream.fill(weight.memory, (byte) 0);
        return weight;
    }

    @Override
    public long bytesBesideWeights(List<StoredRows> rows) {
        return CudaWeight.haveBlocks(rows) ? BlockProducts.SCRATCH_BYTES : 0;
    }

    @Override
    public long weightBytes(WeightFormat format, int rows, int columns) {
        return CudaWeight.bytes(format, rows, columns);
    }

    @Override
    public MemoryPlace weightPlace() {
        return MemoryPlace.DEVICE;
    }

    @Override
    public KvCache allocateKvCache(CacheShape shape, int blockCount, int hostBlockCount) {
        Shapes.cache(blockCount, hostBlockCount);
        var cache = CudaKvCache.allocate(device, shape, cacheType, blockCount, hostBlockCount,
                plan.partialCapacity(shape.kvHeadCount()));
        stream.fill(cache.memory, (byte) 0);
        if (cache.swap() != null) {
            swaps.add(cache.swap());
        }
        return cache;
    }

    @Override
    public int mostBlocks(CacheShape shape) {
        return Integer.MAX_VALUE;
    }

    @Override
    public long bytesPerBlock(CacheShape shape) {
        return CudaKvCache.blockBytes(shape, cacheType);
    }

    @Override
    public OptionalLong freeMemory() {
        return OptionalLong.of(device.freeBytes());
    }

    /** Products are planned by bucket. */
    @Override
    public int[] prefillSizes(int maxTokens) {
        return sizes(GemmPlans::bucket, maxTokens);
    }

    /** Steps are captured by bucket. */
    @Override
    public int[] decodeSizes(int maxSequences) {
        return sizes(StepGraphs::bucket, Math.min(maxSequences, StepGraphs.MAX_ROWS));
    }

    /** The largest of each bucket. */
    private static int[] sizes(IntUnaryOperator bucket, int most) {
        var sizes = IntStream.builder();
        int size = bucket.applyAsInt(1);
        while (size < most) {
            sizes.add(size);
            size = bucket.applyAsInt(size + 1);
        }
        return sizes.add(most).build().toArray();
    }

    @Override
    public long refusedGraphs() {
        return runner.refusedGraphs();
    }

    @Override
    public OptionalLong totalMemory() {
        return OptionalLong.of(device.totalBytes());
    }

    @Override
    public long bytesBesideCache(CacheShape shape, int hostBlockCount) {
        return RESERVE_BYTES + CudaKvCache.bytesBesideBlocks(shape, cacheType, hostBlockCount,
                plan.partialCapacity(shape.kvHeadCount()));
    }

    @Override
    public @Nullable String lack(CacheShape shape, int queryHeadCount, int turnedElements, AttentionSpec attention,
            int... widths) {
        return KernelSizes.lack(shape, queryHeadCount, turnedElements, attention, widths);
    }

    // ---- what this is

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public SequencedMap<String, String> details() {
        return device.details();
    }

    @Override
    public DataType activationType() {
        return DataType.BF16;
    }

    @Override
    public CacheType cacheType() {
        return cacheType;
    }

    @Override
    public int kernelBlockSize() {
        return KernelSizes.BLOCK_TOKENS;
    }

    /** One line for the log: card, memory, driver, libraries. */
    public String describe() {
        return device.describe();
    }

    /** As {@link StepRunner#capture}. */
    CudaGraph capture(Runnable operations) {
        return runner.capture(operations);
    }

    /** Times operations and copies on this card. */
    public DeviceTimer timer() {
        return new DeviceTimer(this, device, stream);
    }

    /** Waits for everything enqueued, copies to and from the host tier included. */
    void synchronize() {
        runner.run(false);
        stream.synchronize();
        swaps.forEach(SwapStream::synchronize);
    }

    @Override
    public void close() {
        device.close();
    }
}
